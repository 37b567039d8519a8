# Without a browser: one script, which is data; no image, nothing from the network.
dsa report --format=html "$DATA/run-hostile.json" >report.html
for what in '<script' '</script>' '<script type="application/json"' '<img' 'http:' \
	'https:' ' href="' 'url(h' '@import'; do
	printf '%s %s\n' "$(grep -oF -e "$what" report.html | wc -l)" "$what"
done
sed -n '/<script /,/<\/script>/p' report.html | sed '1d;$d' | python3 -c '
import json, sys
result = json.load(sys.stdin)
print(result["schema"], result["dataset"]["path"] == json.load(open(sys.argv[1]))["dataset"]["path"])
' "$DATA/run-hostile.json"
# A file's ending tells the form, unless that is asked for.
dsa report --output=same.html "$DATA/run-hostile.json"
cmp report.html same.html
dsa report --format=text --output=text.html "$DATA/run.json"
mkdir results.d
dsa report --output=results.d/text "$DATA/run.json"
cmp text.html results.d/text
dsa report --output=report.md "$DATA/run.json"
head -1 report.md
# The cost of epochs is told where the loader reads nothing, too.
sed 's/^{$/{"epoch_starts": {"count": 3, "mean_s": 90},/
	s/"prefetch": 4,/&"steps_per_epoch": 200,/' "$DATA/run.json" >epochs.json
dsa report --format=html epochs.json | grep -A2 'id="own"'
# The verdict says what it is not sure of.
sed 's/^{$/{"bound": {"why": "it is asynchronous"},/' "$DATA/run.json" >bound.json
dsa report --format=text bound.json | grep -A1 'upper bound'
# A rate far beyond those of training leaves their bars a length.
python3 -c '
import json, sys
result = json.load(open(sys.argv[1]))
for result["rates"]["fetch_per_s"]["value"] in 3000, 3000000:
    print(json.dumps(result), file=open("%d.json" % result["rates"]["fetch_per_s"]["value"], "w"))
' "$DATA/run.json"
for rate in 3000 3000000; do
	dsa report --format=html $rate.json | grep -c 'M84 10L88 0\|A bar with a gap' || :
done
