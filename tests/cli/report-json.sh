mkdir run
cp "$DATA/run.json" run
dsa report --json run | cmp - run/run.json
dsa report --format=json --output=again.json run
cmp again.json run/run.json
ls -A -I '*.out'
