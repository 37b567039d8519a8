# The line that says what is wrong, and the status.
try() {
	status=0
	said=$(dsa bench "$@" 2>&1) || status=$?
	printf '%s\n%s\n' "$said" "$status" | sed '2,/^[0-9]*$/{/^[0-9]*$/!d;}'
}
try sleep
try fetch
try fetch images
try ring images
try fetch --dataset nowhere
try fetch --dataset synthetic --workers 2
try fetch --dataset synthetic --cache-policy lru
try fetch --dataset synthetic --cache-policy fast
try fetch --dataset synthetic --fetch-depth 257
try fetch --dataset synthetic --storage-bandwidth fast
try fetch --dataset synthetic --storage-bandwidth 5/min
try prep --dataset synthetic --storage-latency 5 days
try prep --dataset synthetic --storage-latency 2h
try prep --dataset synthetic --cache 120%
try prep --dataset synthetic --batch 0
try prep --dataset synthetic --seed -1
try prep --dataset synthetic --cores 999 | sed 's/only [0-9]*/only N/'
try ring --dataset synthetic
export DSA_LOADER=colour=red
try ring
unset DSA_LOADER
mkdir empty
try prep --dataset empty
