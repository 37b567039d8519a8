dsa report "$DATA/run.json" >/dev/full || echo $?
dsa report --output=/dev/full "$DATA/run.json" || echo $?
dsa report --output=no/such/folder "$DATA/run.json" || echo $?
ls -A -I '*.out'
