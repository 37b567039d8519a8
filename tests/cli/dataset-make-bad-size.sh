dsa dataset make --size-mean 2G set 2>&1 | head -1
dsa dataset make --count 0 set 2>&1 | head -1
dsa dataset make --format zip set 2>&1 | head -1
dsa dataset make
