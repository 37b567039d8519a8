#!/bin/sh
# The HTML report in Chromium, before axe and html-validate, in every state: complete,
# full of hostile names, without any number, with and without gnuplot. Speaks TAP.
here=$(cd "$(dirname "$0")" && pwd)
dsa=${BUILD:-$here/../build/plain}/dsa
if [ ! -d "$here/web/node_modules" ] && [ -z "$DSA_WEB_REQUIRED" ]; then
	echo "1..0 # SKIP npm ci --ignore-scripts --prefix tests/web installs the tools"
	exit
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" # of the browser, too

for name in run run-hostile run-died run-whatif; do
	"$dsa" report --format=html --output="$scratch/$name.html" \
		"$here/data/$name.json" || exit 1
done
for name in run run-hostile run-whatif; do
	PATH=/nowhere "$dsa" report --format=html --output="$scratch/$name-plain.html" \
		"$here/data/$name.json" || exit 1
done
for name in run run-hostile run-died; do
	"$dsa" compare --format=html --output="$scratch/compare-$name.html" \
		"$here/data/run-whatif.json" "$here/data/$name.json" || exit 1
done
node "$here/web/check.mjs" "$scratch/run-whatif.html" "$scratch/run.html" \
	"$scratch"/run-*[!f].html "$scratch"/compare-*.html
