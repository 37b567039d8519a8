# The example says which of its samples were skipped, and that none was good.
train() {
	"$BUILD/examples/train" --epochs 1 --size 32 --emulate-gpu 20000 "$@" \
		>/dev/null 2>err || echo "status $?"
	cat err
}
dsa dataset make --count 20 --size-mean 6K set >/dev/null
train --dataset set
mkdir -p set/none bad/none
: >set/none/empty.jpg
train --dataset set
: >bad/none/empty.jpg
train --dataset bad
