# Prep by transform, as a hostile file may have it, too.
cat >parts.json <<'END'
{"prep_sampled": 1200, "prep_by_transform": [
{"name": "RandomResizedCrop", "calls": 1200, "mean_s": 0.004, "share": 0.5},
{"name": "decode", "calls": 2400, "mean_s": 0.002, "share": 0.25},
{"name": "<b>\u001b[31m", "calls": 1200, "mean_s": 0.001, "share": 0.125},
{"name": "collate", "calls": 150, "mean_s": 0.0005, "share": 0.0625},
{"name": "hand-over", "mean_s": 0.0005, "share": 0.0625},
{"calls": 1}],
"prep_slowest": [{"sample": 17, "file": "train/<17>.jpg", "prep_s": 0.031},
{"sample": 4, "prep_s": 0.02}],
END
{
	cat parts.json
	sed '1d; /"prep_by_transform"/d; /"prep_slowest"/d' "$DATA/run.json"
} >run.json
dsa report run.json | sed -n '/^  prep/,/^  [a-oq-z]/p' | head -2
dsa report --format=html run.json | sed -n '/id="parts"/,/<\/table>/p' | sed 's/<svg.*<\/svg>//'
dsa report --format=html run.json | sed -n '/took longest/,/<\/table>/p'
# What-if: names that there are not, and what comes of one.
{
	cat parts.json
	sed 's/^{//' "$DATA/../fuzz/corpus/model/run"
} >run.json
try() {
	status=0
	said=$(dsa whatif "$@" 2>&1) || status=$?
	printf '%s\n%s\n' "$said" "$status" | sed '/^Try `dsa/d'
}
try run.json --without Resize
try run.json --without decoed
try run.json --without hand-over
try run.json --without ''
try "$DATA/run.json" --without decode
try run.json --without decode --verify
words() {
	"$@" | sed 's/[0-9][0-9.]*/N/g; s/+-N/N/g' | tr -s ' '
}
words dsa whatif run.json --without decode,"$(printf '<b>\033[31m')"
dsa whatif run.json --without decode --json | grep '"without"'
