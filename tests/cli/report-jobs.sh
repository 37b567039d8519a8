LC_ALL=C.UTF-8 dsa report "$DATA/run-jobs.json"
dsa report --format=html "$DATA/run-jobs.json" | sed -n '/id="jobs"/,/<\/section>/p'
