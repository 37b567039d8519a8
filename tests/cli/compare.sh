# The kept run against itself with other settings: prep is slower, fetch is as it was.
cp "$DATA/run.json" a.json
python3 - a.json b.json <<'END'
import json, sys

with open(sys.argv[1]) as file:
    run = json.load(file)


def share(low, value, high):
    return {"low": low, "share": value, "high": high}


run["stalls"] = {
    "compute": share(0.396, 0.4, 0.404),
    "prep": share(0.499, 0.505, 0.511),
    "fetch": share(0.09, 0.095, 0.1),
}
run["rates"]["real_per_s"] = {"low": 1518, "value": 1536, "high": 1554}
run["rates"]["cached_per_s"] = {"low": 1675, "value": 1697, "high": 1719}
run["rates"]["prep_per_s"] = {"low": 1670, "value": 1700, "high": 1730}
run["configuration"]["workers"] = 3
run["configuration"]["prefetch"] = 8
run["environment"]["kernel"] = "Linux 6.1.0-29-amd64"
del run["environment"]["libjpeg"]
with open(sys.argv[2], "w") as file:
    json.dump(run, file)
END
LC_ALL=C dsa compare a.json b.json
LC_ALL=C.UTF-8 dsa compare a.json a.json | head -9
dsa compare --json b.json a.json >back.json
python3 - back.json <<'END'
import json, sys

with open(sys.argv[1]) as file:
    told = json.load(file)
print(told["schema"], told["a"], told["b"])
print(*told["causes"], sep="\n")
for row in told["compared"] + told["environment"]:
    if row["name"] in ("stalls.prep", "rates.real_per_s", "configuration.cache", "libjpeg"):
        print(json.dumps(row, sort_keys=True))
END
dsa compare -o same.json -f json b.json a.json
cmp back.json same.json
dsa compare -f markdown a.json b.json
