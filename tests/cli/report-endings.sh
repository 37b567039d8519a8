# How a run ended, how precise it got, and whether its numbers can be trusted: each told
# once, the worst first.
export LC_ALL=C.UTF-8
with() { # PYTHON: of a result `r`
	python3 - "$DATA/run.json" "$1" >changed.json <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(r, sys.stdout)
END
	echo "== $1"
	dsa report changed.json | grep -vE \
		'images/|take 3840|^  (limit|emulated|windows|overhead|skipped) |^$'
	dsa report --format=html changed.json >changed.html
	sed -n '/^<h1>/p; /Emulated/d; /class="note"/p; /Too few/p; /Real: /p' changed.html |
		sed 's/<svg.*svg>//'
}
with 'r["run"].update(status="budget", precision_share=.005, budget_s=12, wall_s=19.5,
	budget_needed_s=100)'
with 'r["run"].update(status="budget", precision_share=.005, budget_s=12, wall_s=13,
	budget_needed_s=1e6)'
with 'r["run"].update(status="budget", blocks=6, budget_s=12, wall_s=13, budget_needed_s=18)'
with 'r["run"].update(status="target died", status_why="the program crashed (SIGABRT)")'
with 'r["run"].update(status="budget", status_why="8 s is too short (a step takes 1.2 s)",
	budget_s=8, budget_needed_s=360); del r["stalls"]; del r["second_proof"]'
with 'r["stalls"]["prep"].update(low=-4.7, high=5.4); del r["second_proof"]'
with 'r["second_proof"] = {"prep": {"share": 0}, "fetch": {"share": .1}, "gap_share": .38}'
with 'r["second_proof"] = {"prep": {"share": .1}, "fetch": {"share": .4}, "gap_share": .28}'
with 'r["outside"] = {"share": .336, "time_s": 6.5}; r["configuration"]["loaders"] = 2'
with 'r["rates"]["real_per_s"].update(low=-10116)'
