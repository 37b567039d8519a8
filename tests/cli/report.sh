LC_ALL=C dsa report "$DATA/run.json"
LC_ALL=C.UTF-8 dsa report --format=text "$DATA/run.json"
