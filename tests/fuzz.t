#!/bin/sh
# Every fuzzer runs through its kept inputs. Speaks TAP.
here=$(cd "$(dirname "$0")" && pwd)
set -- "$here"/fuzz/*_fuzz.c
if [ ! -f "$1" ]; then
	echo "1..0 # SKIP no fuzzer yet"
	exit
fi
echo "1..$#"
number=0 failed=0
for source; do
	number=$((number + 1))
	name=$(basename "$source" _fuzz.c)
	if [ ! -d "$here/fuzz/corpus/$name" ]; then
		echo "not ok $number - $name keeps inputs"
		failed=1
	elif said=$("$here/../build/address-undefined/fuzz/$name" -timeout=20 "$here/fuzz/corpus/$name"/* 2>&1); then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		echo "$said" | sed 's/^/# /'
		failed=1
	fi
done
exit $failed
