# dsa.ini < DSA_OPT_* < what is typed. What stands in the way of a folder names it.
touch from-us from-file from-environment from-section
try() {
	dsa run "$@" -- no-such-program || echo "$?"
}
try -o from-us
printf 'output = from-file\nmean = of no command\n[report]\noutput = from-report\n' >dsa.ini
try
DSA_OPT_OUTPUT=from-environment DSA_OPT_UNKNOWN=x try
DSA_OPT_OUTPUT=from-environment try -o from-us
printf '[run]\noutput=from-section\njson = no\n' >dsa.ini
try
printf '[run]\nworker = 2\n' >dsa.ini
try
printf 'steps = 5\n' >dsa.ini # has no effect in a gate: it is for others
dsa gate --baseline none.json -- true || echo "$?"
printf 'json = perhaps\n' >dsa.ini
try
printf '# of a gate\n[gate]\nbudget = x\n[run]\nbudget = soon\n' >dsa.ini
try -o from-us 2>&1 | head -1
printf '[nosuch]\nbudget = 30s\n' >dsa.ini
try
printf '[bench]\nbatch = 30\n' >dsa.ini
try
printf '[bench fetch]\nbatch = 30\n' >dsa.ini
DSA_OPT_BUDGET=xx try 2>&1 | head -1
DSA_OPT_BUDGET=xx try --precision=x 2>&1 | head -1
try --precision=x 2>&1 | head -1
DSA_OPT_JSON=perhaps try
printf 'workers\n' >dsa.ini
try
# Several jobs refuse the file's protocol, until another one is typed.
printf '[run]\nprotocol = separate\n' >dsa.ini
try --jobs=2 2>&1 | head -1
try --jobs=2 --protocol=interleaved
