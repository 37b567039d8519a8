/* whatif.c - dsa whatif: predicts the effect of changes, and tries them. */
#include "cmd/common/argument.h"
#include "cmd/common/changes.h"
#include "cmd/common/cmd.h"
#include "cmd/whatif/whatif_run.h"

#include <argp.h>

/* Keys without a letter; changes.c has its own from 2000 on. */
enum { PRICES = 300, VERIFY, RESUME, BUDGET, PRECISION, JSON };

static const struct argp_option options[] = {
	{"prices", PRICES, "FILE", 0,
	 "Price list for the cost of an epoch, see dsa-prices(5)", 6},
	{NULL, 0, NULL, 0, "The proof:", 6},
	{"verify", VERIFY, NULL, 0,
	 "Run each change, or without changes the advised ones", 0},
	{"resume", RESUME, NULL, 0, "Skip what the result has verified already", 0},
	{"budget", BUDGET, "TIME", 0, "Time to measure each (default 20s)", 0},
	{"precision", PRECISION, "POINTS", 0,
	 "Stop when the rate is known to POINTS percent (default 1)", 0},
	{NULL, 0, NULL, 0, "The result:", 7},
	{"json", JSON, NULL, 0, "Print the result with these predictions", 0},
	{"quiet", 'q', NULL, 0, "Print nothing but errors", 0},
	{"verbose", 'v', NULL, 0, "Print how each change was measured", 0},
	{0},
};

static const struct argument arguments[] = {
#define AT(key, kind, member) ARGUMENT(whatif_run, key, kind, member)
	AT(PRICES, TEXT, prices),          AT(VERIFY, FLAG, verify),
	AT(BUDGET, TIME, trials.budget_s), AT(JSON, FLAG, json),
	AT('v', FLAG, trials.verbose),     {0},
#undef AT
};

static error_t whatif_parse(int key, char *arg, struct argp_state *state)
{
	struct whatif_run *asked = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = asked;
		return 0;
	case RESUME:
		asked->trials.resume = asked->verify = true;
		return 0;
	case PRECISION:
		argument_precision(state, arg, &asked->trials.precision);
		return 0;
	case 'q':
		asked->quiet = asked->trials.quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (asked->run != NULL)
			argp_error(state, "one RUN at a time");
		asked->run = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which RUN? (a run's folder or its run.json)");
		return 0;
	default:
		return argument_take(options, arguments, key, arg, state);
	}
}

/* Options that mean something else in other commands. */
static const struct argp_option own_options[] = {
	{"output", 'o', "DIR", 0,
	 "Write the result with these predictions there; with --verify, instead of "
	 "where RUN is",
	 7},
	{0},
};

static error_t parse_own(int key, char *arg, struct argp_state *state)
{
	struct whatif_run *asked = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &asked->sweep;
		return 0;
	case 'o':
		asked->output = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child own_children[] = {{&changes_argp, 0, NULL, 0}, {0}};
static const struct argp own = {
	.options = own_options, .parser = parse_own, .children = own_children};
static const struct argp_child children[] = {{&own, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options,
	.parser = whatif_parse,
	.args_doc = "RUN",
	.doc = "Predict the effect of changes, from the result of one run.",
	.children = children,
};

static int whatif_main(int argc, char **argv)
{
	struct whatif_run asked = {.trials = {.budget_s = 20, .precision = .01}};

	argp_parse(&argp, argc, argv, 0, NULL, &asked);
	return whatif_run_answer(&asked);
}

const struct command command_whatif = {
	.name = "whatif",
	.summary = "predict the effect of changes, and try them",
	.argp = &argp,
	.own = &own, /* a setting of dsa run is no question */
	.run = whatif_main,
};
