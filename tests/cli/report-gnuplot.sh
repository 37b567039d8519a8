# How often gnuplot drew: seven plots, and none when it is missing, fails or hangs.
drawn() {
	dsa report --format=html "$DATA/run.json" >report.html
	grep -c gnuplot_canvas report.html || true
	grep -c '<figure>' report.html
}
drawn
dsa=$(command -v dsa)
long=$((86400 + $$)) # seconds: nobody else sleeps for so many
mkdir none fails hangs strange
ln -s "$dsa" none/dsa
printf '#!/bin/sh\nexit 1\n' >fails/gnuplot
printf '#!/bin/sh\necho started >>started\nsleep %s & wait\n' $long >hangs/gnuplot
printf '#!/bin/sh\necho "<svg><g id=\\"gnuplot_canvas\\"><script>1</script></g></svg>"\n' >strange/gnuplot
chmod +x fails/gnuplot hangs/gnuplot strange/gnuplot
for folder in fails hangs strange; do
	echo $folder
	(PATH=$PWD/$folder:$PATH && drawn)
done
cat started
pgrep -f "sleep $long" || echo 'no sleeper left'
echo none
PATH=$PWD/none dsa report --format=html "$DATA/run.json" >report.html
grep -c gnuplot_canvas report.html || true
