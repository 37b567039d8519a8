# The line that says what is wrong, and the status: before anything is run.
try() {
	status=0
	said=$(dsa gate "$@" 2>&1) || status=$?
	printf '%s\n%s\n' "$said" "$status" | sed '/^Try `dsa/d'
}
try
try -- true
try --baseline b.json
try --baseline b.json --against true -- true
try --baseline b.json --run r.json -- true
try --update -- true
try --against 'true; rm' -- true
try --against '' -- true
try --baseline b.json --metric opens=3 -- true
try --baseline b.json --metric samples_per_s=fast -- true
try --baseline b.json --metric samples_per_s -- true
try --baseline b.json --max-regression off -- true
try --baseline b.json --alpha 0 -- true
try --against true --pairs 8 --alpha .0001 -- true
try --against true --pairs 3 -- true
try --against true --alpha 1e-30 -- true
try --baseline b.json --pairs 65 -- true
try --baseline b.json --metric cpu_s_per_sample=5% --metric prep_stall=5% \
	--metric fetch_stall=5% -- true
try --baseline b.json --inconclusive maybe -- true
try --baseline b.json --self-test=-5% -- true
try --baseline b.json --json --github -- true
try --baseline b.json --json --junit - -- true
try --baseline b.json --repetition 0s -- true
try --baseline b.json --samples 0 -- true
# What can't be done.
try --baseline b.json --update --cores 999 -- true | sed 's/only [0-9]*/only N/'
try --baseline b.json -- true
try --baseline nowhere/b.json --update -- true
try --baseline b.json --junit nowhere/j.xml -- true
try --baseline b.json --markdown nowhere/m.md -- true
try --baseline b.json --run r.json
mkdir out
echo '{"schema": "dsa.baseline/1"}' >full.json
try --baseline full.json --run out
echo '{"schema": "dsa.result/99"}' >out/run.json
try --baseline full.json --run out
echo '{"schema": "dsa.baseline/98"}' >out/measured.json
try --baseline full.json --run out
echo '{"schema": "dsa.baseline/99"}' >b.json
try --baseline b.json -- true
echo '{"schema": "dsa.baseline/1", "sess' >b.json
try --baseline b.json -- true
echo 'hello' >b.json
try --baseline b.json -- true
