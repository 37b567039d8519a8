#!/bin/sh
# The example really trains: its loss falls, and it keeps to the manners of a program
# that a profiler runs. SOAK=1 instead: on pictures of full size its accuracy on
# held-out ones is at least 60 % of 10 classes after 12 epochs (the time is printed; it
# is to be below 3 minutes on 2 cores). That colours alone do not tell the classes is
# the unit test histogram. Speaks TAP.
here=$(cd "$(dirname "$0")" && pwd)
BUILD=$(cd "${BUILD:-$here/../build/plain}" && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
XDG_CACHE_HOME=$scratch/cache
export XDG_CACHE_HOME
number=0 failed=0

# result NAME STATUS [FILE]: passes if the status is 0, else shows the file.
result() {
	number=$((number + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		[ -z "$3" ] || sed 's/^/# /' "$3"
		failed=1
	fi
}

train() {
	"$BUILD/examples/train" "$@"
}

# The last number behind this word in the lines of a file.
last() {
	sed -n "s/.*$1 \([0-9.]*\).*/\1/p" "$2" | tail -1
}

long() {
	echo 1..2
	"$BUILD/dsa" dataset make --count 4000 --seed 1 pictures >made
	"$BUILD/dsa" dataset make --count 1000 --seed 2 unseen >>made
	begin=$(date +%s)
	train --dataset pictures --test unseen --epochs 12 >out 2>&1
	result "trains on 4000 pictures" $? out
	echo "# 12 epochs and the test took $(($(date +%s) - begin)) s"
	accuracy=$(last "held-out accuracy" out)
	echo "# held-out accuracy $accuracy %"
	awk "BEGIN { exit !($accuracy >= 60) }"
	result "recognises at least 60 % of pictures it has not seen" $? out
}

short() {
	echo 1..10
	"$BUILD/dsa" dataset make --count 640 --seed 1 --size-mean 8K pictures >made
	"$BUILD/dsa" dataset make --count 50 --seed 2 --size-mean 8K unseen >>made

	epochs=20 # of 640 pictures, so of 20 steps
	train --dataset pictures --test unseen --size 32 --epochs $epochs >out 2>&1
	result "trains and tests" $? out
	first=$(sed -n 's/^step 50 .*loss \([0-9.]*\).*/\1/p' out)
	awk "BEGIN { exit !($(last loss out) < $first - 0.1) }"
	result "its loss falls" $? out
	[ "$(sed -n 's/^step \([0-9]*\) .*/\1/p' out | tail -1)" = $((epochs * 20)) ]
	result "every picture counts in every epoch" $? out
	grep -q '^held-out accuracy [0-9.]* % of 50 samples$' out
	result "and so does every held-out one, in a short batch too" $? out

	train --dataset pictures --emulate-gpu 1e5 --epochs 2 --batch 50 --size 16 \
		>out 2>&1 &&
		[ "$(grep -c . out)" = "$(grep -c emulated out)" ] &&
		grep -q '^step 26 ' out
	result "what is emulated is called so in every line" $? out

	train --dataset pictures --size 16 --steps 3 --batch 7 --threads 5 >out 2>&1 &&
		grep -q '^step 3 ' out
	result "ends after --steps" $? out

	train --dataset pictures --size 16 --lr 1e9 >out 2>&1
	[ $? = 3 ] && grep -q 'smaller --lr' out
	result "a loss that is no number is an error" $? out

	train --dataset nowhere >out 2>&1
	[ $? = 3 ] && [ "$(grep -c . out)" = 1 ] && grep -q "no data set 'nowhere'" out
	result "a data set that is not there is an error" $? out

	train --dataset pictures --batch none >out 2>&1
	[ $? = 2 ] && grep -q "no --batch can be 'none'" out
	result "a wrong option is bad usage" $? out

	train --dataset pictures --size 16 >out 2>&1 &
	until grep -q '^step 50 ' out; do
		kill -0 $! || break
	done
	kill $!
	wait $! 2>/dev/null
	[ $? = 143 ]
	result "SIGTERM ends it as any program" $? out
}

if [ -n "$SOAK" ]; then long; else short; fi
exit $failed
