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
dsa report --format=html --output=same.html "$DATA/run-hostile.json"
cmp report.html same.html
# The cost of epochs is told where the loader reads nothing, too.
sed 's/^{$/{"epoch_starts": {"count": 3, "mean_s": 90},/
	s/"prefetch": 4,/&"steps_per_epoch": 200,/' "$DATA/run.json" >epochs.json
dsa report --format=html epochs.json | grep -A2 'id="own"'
# The verdict says what it is not sure of.
sed 's/^{$/{"bound": {"why": "it is asynchronous"},/' "$DATA/run.json" >bound.json
dsa report --format=text bound.json | grep -A1 'upper bound'
