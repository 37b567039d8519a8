#!/bin/sh
# demo.sh - makes a data set, trains on it under dsa, and says where the time went.
#
#	BUILD=build/plain examples/demo.sh [FOLDER]
#
# The data set in FOLDER (dsa-demo) is used again if it is complete.
set -e
build=${BUILD:-build/plain}
out=${1:-dsa-demo}
count=1000 seed=1 budget=45s
rate=4000 # samples/s of the emulated accelerator: more than two cores prepare
images=$out/images

mkdir -p "$out"
if [ "$(cat "$out/images.made" 2>/dev/null)" != "$count $seed" ]; then
	echo "== $count JPEGs, as ImageNet's are, into $images"
	rm -rf "$images" "$out/images.made"
	"$build/dsa" dataset make --count $count --seed $seed "$images"
	echo "$count $seed" >"$out/images.made"
fi

echo "== training on this machine's processor"
"$build/dsa" run --budget $budget -o "$out/cpu" -- \
	"$build/examples/train" --dataset "$images"

echo "== the same program: an emulated accelerator in place of its compute, an emulated"
echo "   storage of 100 MB/s, and a cache that keeps 35 % of the data set"
"$build/dsa" run --budget $budget --cache 35% --storage-bandwidth 100M -o "$out" -- \
	"$build/examples/train" --dataset "$images" --emulate-gpu $rate

echo "== reports: $out/report.html and $out/cpu/report.html"
