# A kept run: fetch-bound, on 2 cores. Figures may change with the model: words stay.
cp "$DATA/../fuzz/corpus/model/run" run.json
words() {
	"$@" | sed 's/[0-9][0-9.]*/N/g; s/+-N/N/g' | tr -s ' '
}
words dsa whatif run.json | head -3
words dsa whatif run.json --cores 1,2 --cache 0%,100%
words dsa whatif . --cache 30% --cache-policy minio,lru,nextuse
dsa whatif run.json --cache 50% --json | grep -A3 '"change"' | head -4
cmp run.json "$DATA/../fuzz/corpus/model/run"
dsa whatif run.json --cache 50% -q -o out
ls out
grep -c '"cache_share": 0.5' out/run.json
# A setting of dsa run is no question, nor is its folder the place for the answer.
printf 'cores = 1\noutput = elsewhere\n' >dsa.ini
DSA_OPT_CACHE=50% words dsa whatif run.json | head -3
ls
printf '[whatif]\ncores = 1\n' >dsa.ini
words dsa whatif run.json
# A price list.
printf 'currency = EUR\ncore_hour = 0.05\n' >prices.ini
words dsa whatif run.json --cache 50% --prices prices.ini
# Several jobs, each with a loader, or all with one.
rm dsa.ini
words dsa whatif run.json --jobs 2,1x+0.5x --share=no,yes | head -6
dsa whatif run.json --jobs 1x+0.5x --share --json |
	grep -A4 '"change"' | head -6
dsa whatif run.json --jobs 1x+0.5x --share --json | grep '"command": "dsa'
# A command is printed only for what can be tried here: nobody has 512 cores.
dsa whatif run.json --cores 1,512 --json | grep '"command": "dsa'
COLUMNS=80 dsa whatif --help | sed -n '/Costs:/,/The result:/p' | grep -e : -e '^ *--'
