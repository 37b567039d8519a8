# The line that says what is wrong, and the status.
unset XDG_RUNTIME_DIR
try() {
	status=0
	said=$(dsa serve "$@" 2>&1) || status=$?
	printf '%s\n%s\n' "$said" "$status" | sed '/^Try `dsa/d'
}
try
try one two
try one --dataset two
try --mode lazy synthetic
try --window 2 synthetic
try --jobs 65 synthetic
try --jobs none synthetic
try --slow soon synthetic
try --takeover=never synthetic
try --socket '' synthetic
try --socket "$(printf '%0108d' 0)" synthetic
try --steps 5 synthetic
try --cache 120% synthetic
try --status synthetic
try --cores 999 synthetic | sed 's/only [0-9]*/only N/'
DSA_LOADER=colour=red try synthetic
DSA_LOADER=world=2 try synthetic --socket s
# What can't be done.
try nowhere --socket s
try synthetic --socket nowhere/s
try synthetic --socket s --audit nowhere/audit
echo 'no socket' >file
try synthetic --socket file
try --status --socket s
try --status --socket file
