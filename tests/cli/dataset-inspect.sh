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
echo "recordings:"
dsa dataset make --format audio --count 12 --classes 2 --size-mean 16K speech >made
dsa dataset inspect speech
echo hello >speech/tone-0110hz/hello.wav
{
	printf 'RIFF\144\0\0\0WAVEfmt \020\0\0\0\001\0\002\0\100\037\0\0\0\175\0\0\004\0\020\0'
	printf 'data\100\0\0\0'
	head -c 64 /dev/zero
} >speech/tone-0110hz/stereo.wav
head -c 5000 speech/tone-0113hz/000003.wav >speech/tone-0113hz/cut.wav
dsa dataset inspect --full --prep audio --json speech | grep -v -e '"m' -e '"p[0-9]'
dsa dataset inspect --prep audio set || echo "status $?"
echo "tokens:"
dsa dataset make --format tokens --count 5 --classes 2 --size-mean 16K text >made
dsa dataset inspect --length 127 text
dsa dataset inspect --length 127 text/topic-01/000001.u16
head -c 999 text/topic-00/000000.u16 >text/topic-00/odd.bin
dsa dataset inspect text || echo "status $?"
head -c 1000 text/topic-00/000000.u16 >text/topic-00/odd.bin
dsa dataset inspect --prep tokens --token-bits 32 --length 63 --json text
dsa dataset inspect --length 1000000 text || echo "status $?"
