try() {
	dsa compare "$@" 2>&1 | head -1
}
status() {
	dsa compare "$@" >/dev/null 2>&1 || echo $?
}
try
try one
try one two three
try --format=pdf one two
try "$DATA/run.json" nowhere
mkdir empty
try empty "$DATA/run.json"
status one
status --format=pdf one two
status "$DATA/run.json" nowhere
status -o nowhere/compare.html "$DATA/run.json" "$DATA/run.json"
# Names and texts from anybody stay text.
dsa compare "$DATA/run.json" "$DATA/run-hostile.json" | grep -c "$(printf '\033')" || true
# Nothing was measured of one of them.
cp "$DATA/run.json" "$DATA/run-died.json" .
LC_ALL=C dsa compare run.json run-died.json | head -12
