# What is more likely a slip is asked about, and a stranger's file is not replaced.
try() {
	status=0
	said=$(dsa "$@" 2>&1) || status=$?
	printf '%s\n%s\n' "$said" "$status" | sed '/^Try `dsa/d'
}
try bench prep --cache 35
try run --cache 35 -- true
try run --max-requests 0 -- true
try run --deadline 0 -- true
try run --read-gap 2G -- true
try run --cores 999 -- true | sed 's/only [0-9]*/only N/'
try run --sweep foo=1 -- true
try run -o '' -- true
try gate --against true -o '' -- true
mkdir out
echo '{"theirs": 1}' >out/run.json
try run -o out -- true
cp "$DATA/../fuzz/corpus/model/run" run.json
try whatif run.json --cores 1 -o out
cat out/run.json
