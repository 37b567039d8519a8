# A loader, and jobs that come and go: what is told of them. Numbers of processes and
# times are another matter.
unset XDG_RUNTIME_DIR
server=
trap 'kill -KILL $server 2>/dev/null || :' EXIT
plain() {
	sed -e 's/pid [0-9]*/pid N/g' -e 's/process [0-9]*, up .*/process N, up T/'
}
answers() {
	for _ in $(seq 600); do
		dsa serve --status --socket s >status 2>/dev/null && return
		sleep 0.05
	done
	return 1
}
train() {
	"$BUILD/examples/train" --dataset set --batch "$1" --epochs "$2" >/dev/null
}
dsa dataset make --count 40 --size-mean 6K set >/dev/null
export DSA_LOADER=size=64,layout=nhwc

# Two jobs with batches and epochs of their own; a third that wants something else.
dsa serve set --batch 8 --jobs 2 --leave --mode lockstep --socket s >out 2>err &
server=$!
answers
grep -E '^(jobs|samples) ' status
stat -c %A s
DSA_SHARE=s DSA_JOB=third DSA_LOADER=size=32 train 8 1 2>&1 || echo "status $?"
DSA_SHARE=s DSA_JOB=first train 7 2 &
first=$!
DSA_SHARE=s DSA_JOB=second train 20 1 &
wait $!
wait $first
wait $server
head -2 err | sed -e 's|.*/set:|set:|' -e "s|=$PWD/|=|" -e 's/[0-9]* workers/N workers/'
sed 1,2d err | plain | sed 's/[0-2] jobs* now/N now/' | sort
grep '^jobs' out
grep -Eo '^fetched|samples/s +n/a' out
awk '$2 == "left" { print $1, $2, $4, $5, $6, $11, $12, $13 }' out | sort
[ -e s ] || echo "no socket is left"

# Ended by a signal; the figures as JSON, and over HTTP.
dsa serve set --json -q --socket s >out 2>err &
server=$!
answers
dsa serve set --socket s 2>&1 | sed "s/$server/PID/"
curl -s --unix-socket s http://dsa/metrics >metrics
/usr/bin/python3 -c '
import prometheus_client.openmetrics.parser as parser
families = list(parser.text_string_to_metric_families(open("metrics").read()))
print([family.name for family in families if "jobs" in family.name])'
curl -s --unix-socket s http://dsa/status | grep -c dsa.share/1
curl -s --unix-socket s -o /dev/null -w '%{http_code}\n' http://dsa/nothing
DSA_SHARE=s dsa serve --status --json | grep -E '"(schema|dataset_samples|jobs)"'
kill -TERM $server
wait $server
server=
grep -E '"(schema|dataset_samples|jobs)"' out
cat err

# Without settings samples become what the first job wants, and until then it waits.
unset DSA_LOADER
dsa serve set --socket s >out 2>err &
server=$!
answers
grep 'shared memory' status
DSA_SHARE=s DSA_JOB=first train 300 1
DSA_SHARE=s DSA_JOB=other DSA_LOADER=size=32 train 8 1 2>&1 || echo "status $?"
kill -TERM $server
wait $server
server=
sed 1,2d err | plain
