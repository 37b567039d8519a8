# Colours on a terminal, unless NO_COLOR is set or the terminal has none.
on_terminal() {
	script -qec "dsa report $DATA/run.json" /dev/null </dev/null | tr -d '\r' | cat -v
}
export LC_ALL=C
TERM=xterm on_terminal | sed -n 2,4p
TERM=xterm NO_COLOR=1 on_terminal | grep -c '\^\[' || true
TERM=dumb on_terminal | grep -c '\^\[' || true
TERM=xterm dsa report "$DATA/run.json" | cat -v | grep -c '\^\[' || true
