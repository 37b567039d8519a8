made() {
	dsa dataset make --count 20 --seed 1 --size-mean 6K "$@"
}
made --threads 2 tree | sed 's/,.*//'
ls tree
made --threads 1 --format list --json list | grep -v -e '"bytes' -e _
ls list
head -3 list/list.txt
for picture in tree/*/*; do
	cmp "$picture" list/images/"$(basename "$picture")"
done
# One is not many.
dsa dataset make --count 1 --classes 1 --size-mean 6K one | sed 's/,.*//'
XDG_CACHE_HOME=$PWD dsa dataset inspect one | sed 's/,.*//; q'
# Shards have a list's pictures in its order.
made --format tar --shard-size 40K shards | sed 's/,.*//'
ls shards
tar xOf shards/shard-000001.tar 000007.jpg | cmp - list/images/000007.jpg
XDG_CACHE_HOME=$PWD dsa dataset inspect shards | grep -e ^classes -e ^ignored
made --format tfrecord --shard-size 40K records | sed 's/,.*//'
ls records
XDG_CACHE_HOME=$PWD dsa dataset inspect --label-feature image/class/text records |
	grep -e ^records -e ^classes -e ^broken
# Recordings and tokens, of folders.
made --format audio --threads 2 speech | sed 's/,.*//'
made --format audio --threads 1 --json other | grep -v -e '"bytes' -e _
diff -r speech other && ls speech/tone-0110hz
made --format tokens --classes 2 text | sed 's/,.*//'
made --format tokens --classes 2 --token-bits 32 --json wide | grep -e bits -e files.: -e format
find text wide -name '*.u*' | sort | sed -n '1p; $p'
dsa dataset make --format tokens --token-bits 8 narrow 2>&1 | head -1
# What the end of a terminal interrupts is removed, as what Ctrl-C does.
dsa dataset make --count 10000000 --size-mean 4K much 2>stopped &
until [ -e much ]; do :; done
kill -HUP $!
wait $! || sed 's/after [0-9]*/after N/' stopped
[ -e much ] || echo "nothing is left"
