# What is counted must be exact; how fast it was is another matter.
dsa dataset make --count 24 --size-mean 6K set >/dev/null
counts() {
	dsa bench "$@" --json 2>/dev/null | grep -E '"(batch|batches|dataset_samples|depth|failures|samples|stage|workers|batch_bytes)"'
}
counts fetch --dataset set --steps 5 --batch 4 --fetch-depth 2 --fetch pread-direct
counts fetch --dataset set --steps 9 --batch 4 --cache-policy page | grep -c '"samples": 36'
counts prep --dataset set --steps 6 --batch 4 --workers 2
counts ring --steps 1000 --batch 2 --prefetch 3
# Options override the environment.
DSA_LOADER=batch=8,workers=1 counts prep --dataset set --steps 3 --workers 2
printf 'broken' >set/bricks/zzz.jpg
dsa bench prep --dataset set --steps 7 --batch 4 2>&1 >/dev/null | sed "s/[0-9][0-9]*$/N/"
dsa bench ring --steps 10 | grep -c .
# A path may hold anything.
odd=$(printf 'a,b=%%41\n\377')
mv set "$odd"
dsa bench fetch --dataset "$odd" --steps 1 --fetch-depth 1 --json 2>/dev/null | grep '"dataset"'
