#!/bin/sh
# Every fuzzer runs through its kept inputs; with SOAK=1 or FUZZ_TIME set it goes on from
# there for FUZZ_TIME seconds (60), and what is new stays in build/fuzz/found. Speaks TAP.
here=$(cd "$(dirname "$0")" && pwd)
[ -z "$SOAK" ] || FUZZ_TIME=${FUZZ_TIME:-60}
build=$here/../build

# replay NAME: the kept inputs alone.
replay() {
	"$build/address-undefined/fuzz/$1" -timeout=20 "$here/fuzz/corpus/$1"/* 2>&1
}

search() { # NAME
	mkdir -p "$build/fuzz/found/$1"
	"$build/address-undefined/fuzz/$1" -max_total_time="$FUZZ_TIME" -timeout=10 \
		-rss_limit_mb=4096 -artifact_prefix="$build/fuzz/$1-" \
		"$build/fuzz/found/$1" "$here/fuzz/corpus/$1" >"$build/fuzz/$1.log" 2>&1
	status=$?
	tail -n 40 "$build/fuzz/$1.log"
	return $status
}

set -- "$here"/fuzz/*_fuzz.c
echo "1..$#"
number=0 failed=0
for source; do
	number=$((number + 1))
	name=$(basename "$source" _fuzz.c)
	if [ ! -d "$here/fuzz/corpus/$name" ]; then
		echo "not ok $number - $name keeps inputs"
		failed=1
	elif said=$(if [ -n "$FUZZ_TIME" ]; then search "$name"; else replay "$name"; fi); then
		echo "ok $number - $name"
		[ -z "$FUZZ_TIME" ] || echo "$said" | tail -n 1 | sed 's/^/# /'
	else
		echo "not ok $number - $name"
		echo "$said" | sed 's/^/# /'
		failed=1
	fi
done
exit $failed
