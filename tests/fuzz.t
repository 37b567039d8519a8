#!/bin/sh
# Every fuzzer runs through its kept inputs; with SOAK=1 or FUZZ_TIME set it goes on from
# there for FUZZ_TIME seconds (60), one on each core, and what is new stays in
# build/fuzz/found. What each prints is in build/fuzz/NAME.log. Speaks TAP.
here=$(cd "$(dirname "$0")" && pwd)
[ -z "$SOAK" ] || FUZZ_TIME=${FUZZ_TIME:-60}
export FUZZ_TIME
build=$here/../build
fuzz=$build/fuzz

# replay NAME: the kept inputs alone.
replay() {
	"$build/address-undefined/fuzz/$1" -timeout=30 "$here/fuzz/corpus/$1"/*
}

search() { # NAME
	mkdir -p "$fuzz/found/$1"
	"$build/address-undefined/fuzz/$1" -max_total_time="$FUZZ_TIME" -timeout=30 \
		-rss_limit_mb=4096 -artifact_prefix="$fuzz/$1-" \
		"$fuzz/found/$1" "$here/fuzz/corpus/$1"
}

if [ $# = 1 ]; then # one of them, its status beside its log
	if [ -n "$FUZZ_TIME" ]; then search "$1"; else replay "$1"; fi >"$fuzz/$1.log" 2>&1
	echo $? >"$fuzz/$1.status"
	exit
fi
mkdir -p "$fuzz"
rm -f "$fuzz"/*.status
set -- "$here"/fuzz/*_fuzz.c
echo "1..$#"
for source; do
	basename "$source" _fuzz.c
done | xargs -P "$([ -n "$FUZZ_TIME" ] && nproc || echo 1)" -I{} "$0" {}
number=0 failed=0
for source; do
	number=$((number + 1))
	name=$(basename "$source" _fuzz.c)
	if [ ! -d "$here/fuzz/corpus/$name" ]; then
		echo "not ok $number - $name keeps inputs"
		failed=1
	elif [ "$(cat "$fuzz/$name.status")" = 0 ]; then
		echo "ok $number - $name"
		[ -z "$FUZZ_TIME" ] || tail -n 1 "$fuzz/$name.log" | sed 's/^/# /'
	else
		echo "not ok $number - $name"
		tail -n 40 "$fuzz/$name.log" | sed 's/^/# /'
		failed=1
	fi
done
exit $failed
