XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
dsa dataset make --count 12 --classes 2 --size-mean 20K set >made
: >set/bricks/empty.jpg
echo hello >'set/checks/hello
there.jpg'
dsa dataset convert --resize 64 set small | sed 's/, [0-9.]* MB.*//'
dsa dataset inspect small | grep -e ^small -e ^JPEG -e ^height | sed 's/, [0-9.]* MB//; s/  .* / /'
cmp 'set/checks/hello
there.jpg' 'small/checks/hello
there.jpg' && echo copied
echo "many that are broken, in the order of the data set:"
mkdir many many/a
for i in 01 02 03 04 05 06 07 08 09 10 11; do echo "no $i" >many/a/$i.jpg; done
dsa dataset convert --resize 64 many few | grep '^broken' | cut -c 1-18
echo "labels stay the same, and where it fails nothing is left:"
mkdir many/before
dsa dataset convert --resize 64 many all >made
dsa dataset inspect all | grep ^classes
head -c 20000 /dev/zero >many/a/12.jpg
(
	ulimit -f 16
	dsa dataset convert --resize 64 many none || echo "status $?"
)
[ -e none ] || echo "nothing is left"
echo "other forms, there and back:"
rm -f set/checks/hello*
dsa dataset convert --format tfrecord --shard-size 40K set records | sed 's/, [0-9.]* MB.*//'
dsa dataset convert --format tar --shard-size 100K --label-feature image/class/text records tars |
	sed 's/, [0-9.]* MB.*//'
dsa dataset convert --format tree tars tree | sed 's/, [0-9.]* MB.*//'
rm set/bricks/empty.jpg
for class in bricks checks; do
	cat "set/$class"/*.jpg >one
	cat "tree/$class"/*.jpg | cmp - one && echo "the same $class"
done
ls -A records tars
echo "what was interrupted goes on:"
again() {
	dsa dataset convert --format tfrecord --shard-size 100K --threads 1 set again
}
(
	ulimit -f 16
	again || echo "status $?"
)
ls -A again
dsa dataset convert --format tfrecord --shard-size 100K set whole >made
cp whole/shard-000000.tfrecord again
echo half >again/shard-000001.tfrecord.part
again | sed 's/, [0-9.]* MB.*//'
diff -r whole again && echo "the same"
again || echo "status $?"
echo "and still knows what is left out:"
: >set/bricks/000001.jpg
rest() {
	dsa dataset convert --format tar --shard-size 16K --threads 1 set rest
}
(
	ulimit -f 64
	rest || echo "status $?"
)
ls rest
rest | sed 's/, [0-9.]* MB.*//'
dsa dataset inspect rest | grep ^rest | sed 's/, .*//'
rm set/bricks/000001.jpg
echo "a second time:"
dsa dataset convert --resize 64 set small || echo "status $?"
echo "recordings:"
dsa dataset make --format audio --count 12 --classes 2 --size-mean 16K speech >made
echo hello >speech/tone-0110hz/no.wav
dsa dataset convert --format tar --shard-size 100K speech songs | sed 's/, [0-9.]* MB.*//'
tar tf songs/shard-000000.tar | head -4
dsa dataset convert --format tfrecord --shard-size 100K --prep audio songs sung |
	sed 's/, [0-9.]* MB.*//'
dsa dataset inspect sung | grep -e ^sung -e ^rate -e ^format -e ^classes -e ^records
dsa dataset convert --format tree --label-feature class sung heard | sed 's/, [0-9.]* MB.*//'
rm speech/tone-0110hz/no.wav
for class in tone-0110hz tone-0113hz; do
	cat "speech/$class"/*.wav >one
	cat "heard/$class"/*.wav | cmp - one && echo "the same $class"
done
dsa dataset make --format tokens --count 2 --size-mean 4K text >made
dsa dataset convert --format tar text other || echo "status $?"
echo "refused:"
dsa dataset convert set other 2>&1 | head -1
dsa dataset convert --resize 64 set 2>&1 | head -1
dsa dataset convert --resize 0 set other 2>&1 | head -1
dsa dataset convert --resize 64 --format tar set other 2>&1 | head -1
dsa dataset convert --format zip set other 2>&1 | head -1
dsa dataset convert --resize 64 --shard-size 1M set other 2>&1 | head -1
dsa dataset convert --format tar --quality 80 set other 2>&1 | head -1
ln -s set link
for inside in set/other set/bricks/other link/other; do
	dsa dataset convert --resize 64 set $inside || echo "status $?"
	dsa dataset convert --format tar "$PWD/link" $inside 2>/dev/null || echo "status $?"
	[ -e $inside ] || echo "nothing is there"
done
dsa dataset convert --resize 64 nowhere other || echo "status $?"
dsa dataset convert --resize 64 synthetic other || echo "status $?"
[ -e other ] || echo "nothing is left"
