# The first line: what was wrong, and what may have been meant.
try() {
	dsa "$@" 2>&1 | head -1
}
try rnu
try bench fecth
try frobnicate
try run --cahce 35% -- true
try whatif run.json --cors=4
try gate --frobnicate
try bench ring --batch=9 --prefecth 2
try "$(printf '\033[31mrun')"
try run "--$(printf '\033[31m')" -- true
try run --cache "$(printf '\033[31m')" -- true
try run --seed "$(printf '\033[31m')" -- true
try bench ring -h
try -h
