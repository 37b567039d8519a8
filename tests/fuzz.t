#!/bin/sh
# Every fuzzer of BUILD runs through its kept inputs; with SOAK=1 or FUZZ_TIME set those that
# fuzz, of build/address-undefined, go on from there for FUZZ_TIME seconds (60), one on each
# core, and what is new stays in build/fuzz/found. What each prints is in build/fuzz/NAME.log.
# Speaks TAP.
here=$(cd "$(dirname "$0")" && pwd)
[ -z "$SOAK" ] || FUZZ_TIME=${FUZZ_TIME:-60}
export FUZZ_TIME
build=$here/../build
fuzz=$build/fuzz

# replay NAME: the kept inputs alone.
replay() {
	"${BUILD:-$build/plain}/fuzz/$1" -timeout=30 "$here/fuzz/corpus/$1"/*
}

search() { # NAME
	mkdir -p "$fuzz/found/$1"
	"$build/address-undefined/fuzz/$1" -max_total_time="$FUZZ_TIME" -timeout=30 \
		-rss_limit_mb=4096 -artifact_prefix="$fuzz/$1-" \
		"$fuzz/found/$1" "$here/fuzz/corpus/$1"
}

one() { # NAME: its status beside its log
	if [ -n "$FUZZ_TIME" ]; then search "$1"; else replay "$1"; fi >"$fuzz/$1.log" 2>&1
	echo $? >"$fuzz/$1.status"
}

if [ $# = 1 ]; then
	one "$1"
	exit
fi
mkdir -p "$fuzz"
rm -f "$fuzz"/*.status
set --
for source in "$here"/fuzz/*_fuzz.c; do
	name=${source##*/}
	set -- "$@" "${name%_fuzz.c}"
done
echo "1..$#"
if [ -n "$FUZZ_TIME" ]; then
	printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} "$0" {}
else
	for name; do one "$name"; done
fi
number=0 failed=0
for name; do
	number=$((number + 1))
	status=none
	read -r status <"$fuzz/$name.status"
	if [ ! -d "$here/fuzz/corpus/$name" ]; then
		echo "not ok $number - $name keeps inputs"
		failed=1
	elif [ "$status" = 0 ]; then
		echo "ok $number - $name"
		[ -z "$FUZZ_TIME" ] || tail -n 1 "$fuzz/$name.log" | sed 's/^/# /'
	else
		echo "not ok $number - $name"
		tail -n 40 "$fuzz/$name.log" | sed 's/^/# /'
		failed=1
	fi
done
exit $failed
