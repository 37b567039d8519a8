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
echo "a second time:"
dsa dataset convert --resize 64 set small || echo "status $?"
echo "refused:"
dsa dataset convert set other 2>&1 | head -1
dsa dataset convert --resize 64 set 2>&1 | head -1
dsa dataset convert --resize 0 set other 2>&1 | head -1
dsa dataset convert --resize 64 nowhere other || echo "status $?"
dsa dataset convert --resize 64 synthetic other || echo "status $?"
[ -e other ] || echo "nothing is left"
