LC_ALL=C.UTF-8 dsa report "$DATA/run-whatif.json" | sed -n '/waits/,/no other change/p'
# The page: four figures drawn by gnuplot or by ourselves, and every number.
figures() {
	sed -n '/id="whatif"/,/id="evidence"/p' report.html | grep -c "$1" || true
}
dsa report --format=html "$DATA/run-whatif.json" >report.html
figures '<figure>'
figures gnuplot_canvas
mkdir none
ln -s "$(command -v dsa)" none/dsa
PATH=$PWD/none dsa report --format=html "$DATA/run-whatif.json" >report.html
figures '<figure>'
figures gnuplot_canvas
sed -n '/<caption>Predicted, with/,/<\/table>/p' report.html |
	sed -n 's/<tr><th scope="row">//p' | sed 's/<[^>]*>/ /g; s/  */ /g'
sed -n '/<caption>Every change/,/<\/table>/p' report.html |
	sed -n 's/<tr><th scope="row">//p' | sed 's/<[^>]*>/ /g; s/  */ /g'
# A model that may not predict: one sentence, and no number that might be believed.
python3 - "$DATA/run-whatif.json" >unknown.json <<'EOF'
import json, sys
result = json.load(open(sys.argv[1]))
result["model"]["why"] = "no predictions: the model is 9% off"
json.dump(result, sys.stdout)
EOF
dsa report unknown.json | grep -A1 what-if
dsa report --format=html unknown.json >report.html
grep -o 'No predictions[^<]*' report.html
figures '<figure>'
# Costs have a column where there are prices.
heads() {
	dsa report --format=html "$1" |
		sed -n '/<caption>Assumptions/{n;s/<[^>]*>/ /g;s/  */ /g;p}'
}
heads "$DATA/run-whatif.json"
python3 - "$DATA/run-whatif.json" >free.json <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
for prediction in result["predictions"]:
    prediction.pop("cost", None)
json.dump(result, sys.stdout)
END
heads free.json
# A rate that was hardly measured judges no prediction.
sed 's/"high": 1064.0/"high": 1600.0/' "$DATA/run-whatif.json" >vague.json
dsa report --format=html vague.json | grep -o 'too vague'
