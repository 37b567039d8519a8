# A loader that is killed: one job waits for the next loader, one goes on alone, one wants
# to be told. Each has every sample once an epoch.
unset XDG_RUNTIME_DIR
server=
trap 'kill -KILL $server 2>/dev/null || :' EXIT
until_batches() { # N: of the job that waits
	for _ in $(seq 600); do
		dsa serve --status --socket s 2>/dev/null |
			awk -v n="$1" '$1 == "jobs" { found = n == 0 }
				$1 == "waits" { found = $11 >= n }
				END { exit !found }' && return
		sleep 0.05
	done
	return 1
}
train() { # NAME SETTINGS
	DSA_SHARE=s DSA_JOB=$1 DSA_LOADER=$2 "$BUILD/examples/train" --dataset set --batch 7 \
		--epochs 5 --emulate-gpu 50 >/dev/null 2>"$1" || echo "$1: status $?" >>"$1"
}
dsa dataset make --count 40 --size-mean 6K set >/dev/null
export DSA_LOADER=size=64,layout=nhwc
dsa serve set --batch 8 --jobs 3 --socket s -q 2>err &
server=$!
until_batches 0
train waits takeover=60s &
waits=$!
train alone alone=load &
alone=$!
train told alone=fail &
told=$!
until_batches 4
kill -KILL $server
wait $server 2>/dev/null || echo "killed: $?"
wait $told
dsa serve set --batch 8 --takeover=4s --leave --audit audit --socket s >out 2>err &
server=$!
wait $waits
wait $alone
wait $server
server=
cat waits alone
sed -e 's/process [0-9]*/process N/' -e 's/epoch [0-9], step [0-9]*/epoch E, step S/' told
grep -c 'took over' err
sed -n 's/^waits: epoch [0-9]: //p' audit | sort -u
grep -c 'verdict: each sample exactly once' audit
