dsa report --format=markdown "$DATA/run-whatif.json"
dsa report --format=markdown "$DATA/run-jobs.json" | tail -5
# What a file is named is no markup, and mentions nobody.
dsa report --format=markdown "$DATA/run-hostile.json" >hostile.md
head -1 hostile.md
grep -c '[<[@`]' hostile.md || true
grep -cP '[\x00-\x09\x0b-\x1f]|\xe2\x80\xae' hostile.md || true
# Advice that rests on one of two measurements says so; where nothing helps, that stands there.
python3 - "$DATA/run-whatif.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
result["second_proof"].update(prep={"share": .1}, fetch={"share": .402})
json.dump(result, open("apart.json", "w"))
for prediction in result["predictions"]:
    prediction.pop("rank", None)
json.dump(result, open("nothing.json", "w"))
END
dsa report --format=markdown apart.json | grep -A3 'first of'
dsa report --format=markdown nothing.json | grep 'would help'
dsa report --format=markdown "$DATA/run.json" >/dev/full || echo $?
