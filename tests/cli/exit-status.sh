# --exit-status=target: of programs that ask for no batch.
try() {
	status=0
	dsa run -q "$@" 2>/dev/null || status=$?
	echo "$status"
}
for whose in own target; do
	try --exit-status=$whose -- false
	try --exit-status=$whose -- sh -c 'kill -9 $$'
	try --exit-status=$whose -- true
	try --exit-status=$whose -- no-such-program
done
try --exit-status=target --timeout=.2s -- sleep 1000
