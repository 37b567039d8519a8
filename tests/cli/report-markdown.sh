dsa report --format=markdown "$DATA/run-whatif.json"
dsa report --format=markdown "$DATA/run-jobs.json" | tail -5
# What a file is named is no markup, and mentions nobody.
dsa report --format=markdown "$DATA/run-hostile.json" | head -1
dsa report --format=markdown "$DATA/run.json" >/dev/full || echo $?
