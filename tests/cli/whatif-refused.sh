# The line that says what is wrong, and the status.
try() {
	status=0
	said=$(dsa whatif "$@" 2>&1) || status=$?
	printf '%s\n%s\n' "$said" "$status" | sed '/^Try `dsa/d'
}
# Changes that nobody can mean: before the result is even read.
try out --cores 0
try out --cores 4..1
try out --cores 1,
try out --cache -5
try out --cache 300%
try out --cache 10%..2G
try out --cache-policy best
try out --workers 0
try out --batch 0
try out --gpu-speed 0
try out --gpu-speed 1e9
try out --storage-bandwidth 0
try out --storage-latency -1ms
try out --storage-latency ''
try out --storage-bucket 30ms
try out --block-fetch 512
try out --jobs 0
try out --jobs 1x+20x
try out --share=maybe
try out --precision 99
try out --budget 0
try
try out out
# Results that can't be read, or can't tell.
try nowhere
mkdir empty
try empty
echo '{"schema": "dsa.result/2"}' >newer.json
try newer.json
head -c 2000 "$DATA/run.json" >short.json
try short.json
printf '{"schema": "\033[31m\\n"}' >hostile.json
try hostile.json
echo '{"schema": "dsa.result/1"}' >bare.json
try bare.json
# Changes that make no sense for this run.
try bare.json --cache-policy lru
try bare.json --cache 2G
try bare.json --share
try bare.json --cores 1..16 --workers 1..16 --batch 1..16 --gpu-speed 1,2
# What only trials do, but where a setting for all commands says it.
try bare.json --precision 2
DSA_OPT_BUDGET=5s try bare.json
# What can't be tried, or kept.
try bare.json --cores 1 --verify
cp bare.json run.json
try run.json --cores 1 --verify
try run.json --prices nowhere.ini
