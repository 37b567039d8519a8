/* whatif.c - dsa whatif: predicts the effect of changes, and tries them. */
#include "cmd/common/changes.h"
#include "cmd/common/cmd.h"
#include "cmd/whatif/whatif_run.h"
#include "loader/base/limits.h"
#include "loader/base/trace.h"

#define TO(kind, member) ARGUMENT(whatif_run, kind, member)

/* Options that mean something else in other commands. */
static const struct argument own[] = {
	{"output", 'o', "DIR", TO(TEXT, output),
	 "Write the result with these predictions there; with --verify, instead of "
	 "where RUN is"},
	ARGUMENT_TABLE(offsetof(struct whatif_run, sweep), NULL, changes_arguments),
};

static const struct argument result[] = {
	ARGUMENT_HEADING(8, "The result:"),
	{"json", 0, NULL, TO(FLAG, json), "Print the result with these predictions"},
	{"quiet", 'q', NULL, TO(FLAG, trials.quiet), "Print nothing but errors"},
	{"verbose", 'v', NULL, TO(FLAG, trials.verbose),
	 "Print how each change was measured"},
	ARGUMENT_TABLE(0, NULL, own),
};

static void trials_taken(struct argp_state *state, void *into, const char *value)
{
	struct whatif_run *asked = into;

	(void)value;
	if (argument_is_typed(state))
		asked->how = argument_current(state)->name;
}

static const struct argument trials[] = {
	{"loader", 0, "auto|dsa|torch|none", TO(WORD, trials.choice),
	 "Whose loader is measured (default: as in RUN)"},
	{"budget", 0, "TIME", TO(TIME, trials.budget_s),
	 "Time to measure each (default 20s)"},
	{"max-requests", 0, "N",
	 ARGUMENT_WHOLE_OF(whatif_run, trials.most_gets, 1, LIMIT_REQUESTS),
	 "Ask servers for N objects at most, for each (default: as many as one epoch)"},
	{"precision", 0, "POINTS", TO(POINTS, trials.precision),
	 "Stop when the rate is known to POINTS percent (default 1)"},
	ARGUMENT_TABLE(0, NULL, result),
};

static const struct argument arguments[] = {
	{NULL, 0, "RUN", TO(ONE, run), "which RUN? (a run's folder or its run.json)"},
	ARGUMENT_HEADING(6, "Costs:"),
	{"prices", 0, "FILE", TO(TEXT, prices),
	 "Price list for what training costs, see dsa-prices(5)"},
	ARGUMENT_HEADING(7, "Trying the changes:"),
	{"verify", 0, NULL, TO(FLAG, verify),
	 "Run each change, or without changes the advised ones"},
	{"resume", 0, NULL, TO(FLAG, trials.resume),
	 "Verify only what the result has not verified already"},
	ARGUMENT_TABLE(0, trials_taken, trials),
};

static void whatif_check(struct argp_state *state, void *into)
{
	const struct whatif_run *asked = into;

	if (asked->how != NULL && !asked->verify && !asked->trials.resume)
		argument_error(state,
			       "--%s goes with --verify: nothing is run without it",
			       asked->how);
}

static int whatif_main(const struct command *self, int argc, char **argv)
{
	struct whatif_run asked = {.trials = {.budget_s = 20,
					      .precision = .01,
					      .most_gets = TRACE_ONE_EPOCH}};

	argument_read(self, argc, argv, &asked);
	asked.verify = asked.verify || asked.trials.resume;
	return whatif_run_answer(&asked);
}

const struct command command_whatif = {
	.name = "whatif",
	.summary = "predict the effect of changes, and try them",
	.arguments = arguments,
	.own = own, /* a setting of dsa run is no question */
	.check = whatif_check,
	.doc = "Predict the effect of changes, from the result of one run.",
	.run = whatif_main,
};
