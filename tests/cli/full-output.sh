# What can't be written is said with its reason, by help as well.
cp "$DATA/run-whatif.json" run.json
for words in "help run" "--version" "report $DATA/run.json" \
	"whatif run.json --cores 2"; do
	status=0
	# shellcheck disable=SC2086 # words
	{ dsa $words >/dev/full; } 2>&1 || status=$?
	echo "$status"
done
