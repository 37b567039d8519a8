XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
dsa dataset make --count 30 --size-mean 6K set >made
dsa dataset inspect set | grep -v -e ^bytes -e ^width -e ^height | sed 's/, [0-9.]* MB//'
picture=$(find set/bricks -name '*.jpg' | sort | head -1)
head -c 3000 "$picture" >'set/bricks/cut
"short"<script>&;.jpg'
echo hello >set/dots/hello.jpg
: >set/dots/empty.jpg
echo what these are >set/dots/README
dsa dataset inspect --full --threads 3 set | sed -n '/^JPEG/,$p'
dsa dataset inspect --json set | grep -A13 '"broken"'
