# A program that dsa run was asked not to measure as it is: one line, and 3.
try() {
	status=0
	said=$(dsa run -q "$@" -- "$BUILD/examples/train" --dataset synthetic:1000 \
		--batch 8 --size 32 2>&1 >/dev/null) || status=$?
	printf '%s\n%s\n' "$said" "$status"
}
try --loader torch
DSA_SHARE=s try --budget 2s
dsa run --timeline=no/such/folder.json -- true || echo $?
