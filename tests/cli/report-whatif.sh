LC_ALL=C.UTF-8 dsa report "$DATA/run-whatif.json" | sed -n '/waits/,/nothing/p'
