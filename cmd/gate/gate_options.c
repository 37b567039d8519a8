/* gate_options.c - dsa gate: fails a build when training waits longer for data. */
#include "cmd/gate/gate_options.h"
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/shell_quote.h"
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "loader/base/text/shell_word.h"
#include "models/gate/gate_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BASELINE = 300,
	UPDATE,
	AGAINST,
	RUN,
	METRIC,
	REGRESSION,
	PAIRS,
	ALPHA,
	REPETITION,
	SAMPLES,
	CONFIRM,
	INCONCLUSIVE,
	SELF_TEST,
	ENVIRONMENT,
	TIMEOUT,
	GRACE,
	JUNIT,
	MARKDOWN,
	GITHUB,
	JSON
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "What it is compared with:", 1},
	{"baseline", BASELINE, "FILE", 0, "What was measured before, a committed file",
	 0},
	{"update", UPDATE, NULL, 0,
	 "Measure, and append it to the baseline as one more session", 0},
	{"against", AGAINST, "CMD", 0,
	 "Another command, run in turns with this one, so that drift cancels", 0},
	{"run", RUN, "FILE", 0,
	 "Judge an earlier measurement (run.json, or a baseline), run nothing", 0},
	{"self-test", SELF_TEST, "PERCENT", OPTION_ARG_OPTIONAL,
	 "Test whether a slowdown of PERCENT (default 30%) would be found here", 0},
	{"allow-env-change", ENVIRONMENT, NULL, 0,
	 "Allow another machine: timed metrics are then reported but cannot fail", 0},
	{NULL, 0, NULL, 0, "What is a regression:", 2},
	{"metric", METRIC, "NAME=LIMIT", 0,
	 "How much worse a metric may get (5%), or off; dsa-gate(1) lists them", 0},
	{"max-regression", REGRESSION, "LIMIT", 0,
	 "The limit of timed metrics without a --metric", 0},
	{"alpha", ALPHA, "P", 0, "Level of all tests together (default 0.05)", 0},
	{"confirm", CONFIRM, NULL, 0, "Measure once more before the build fails", 0},
	{"inconclusive", INCONCLUSIVE, "pass|fail", 0,
	 "Exit status of an inconclusive comparison, instead of 4", 0},
	{NULL, 0, NULL, 0, "The measurement:", 3},
	{"pairs", PAIRS, "N", 0,
	 "Repetitions of each side (default 8); 0: exact counts alone", 0},
	{"repetition", REPETITION, "TIME", 0, "Length of each (default 2s)", 0},
	{"samples", SAMPLES, "N", 0,
	 "Count the work of N samples (default: the data set, at most 4096)", 0},
	{"timeout", TIMEOUT, "TIME", 0,
	 "Give up when no batch is asked for within TIME (default 60s)", 0},
	{"grace", GRACE, "TIME", 0,
	 "Time that the program has to end after its data (default 10s)", 0},
	{NULL, 0, NULL, 0, "The result:", 4},
	{"output", 'o', "DIR", 0, "Write the measurement and the verdict there", 0},
	{"junit", JUNIT, "FILE", 0, "Write a test case for each metric", 0},
	{"markdown", MARKDOWN, "FILE", 0,
	 "Write the verdict as Markdown; - is standard output", 0},
	{"github", GITHUB, NULL, 0, "Print annotations, write the step summary", 0},
	{"json", JSON, NULL, 0, "Print the verdict as JSON", 0},
	{"quiet", 'q', NULL, 0, "Print nothing but errors", 0},
	{"verbose", 'v', NULL, 0, "Print each repetition", 0},
	{0},
};

/* "5%" and "0.05"; off. */
static bool read_limit(const char *text, double *limit)
{
	if (strcmp(text, "off") == 0)
		*limit = INFINITY;
	else if (!number_percent(text, limit) && !number_real(text, limit))
		return false;
	return *limit >= 0;
}

static void set_metric(struct argp_state *state, struct gate_options *ask, char *arg)
{
	char name[64], *equals = strchr(arg, '=');
	double limit;
	int metric;

	if (equals == NULL || (size_t)(equals - arg) >= sizeof(name) ||
	    !read_limit(equals + 1, &limit)) {
		argp_error(state,
			   "--metric is NAME=LIMIT, as samples_per_s=5%%, or "
			   "NAME=off, not '%s'",
			   arg);
		return;
	}
	memcpy(name, arg, (size_t)(equals - arg));
	name[equals - arg] = '\0';
	metric = gate_metric_find(name);
	if (metric < 0)
		argp_error(state, "no metric is called '%s'; see dsa-gate(1)", name);
	else
		ask->config.limits[metric] = limit;
}

static void set_regression(struct argp_state *state, struct gate_options *ask,
			   char *arg)
{
	double limit;

	if (!read_limit(arg, &limit) || isinf(limit))
		argp_error(state, "--max-regression is a limit such as 5%%, not '%s'",
			   arg);
	ask->regression = limit;
}

/* Of timed metrics that are on and have no limit of their own. */
static void apply_regression(struct gate_options *ask)
{
	for (int i = 0; !isnan(ask->regression) && i < GATE_METRICS; i++)
		if (gate_metrics[i].tier != GATE_EXACT &&
		    !isinf(gate_metrics[i].limit) && isnan(ask->config.limits[i]))
			ask->config.limits[i] = ask->regression;
}

static void set_against(struct argp_state *state, struct gate_options *ask,
			const char *arg)
{
	struct error err = {0};

	free(ask->against); /* typed: it overrides the file */
	ask->against = shell_split(arg, &err);
	if (ask->against == NULL)
		argp_error(state, "--against='%s': %s", arg, err.message);
}

/* "30%", "300%". */
static bool read_slowdown(const char *text, double *slowdown)
{
	char number[32];
	size_t length = strlen(text);

	if (length < 2 || length > sizeof(number) || text[length - 1] != '%')
		return false;
	memcpy(number, text, length - 1);
	number[length - 1] = '\0';
	if (!number_real(number, slowdown))
		return false;
	*slowdown /= 100;
	return *slowdown > 0 && *slowdown <= 100;
}

static void set_self_test(struct argp_state *state, struct gate_options *ask,
			  const char *arg)
{
	ask->self_test = true;
	if (arg != NULL && !read_slowdown(arg, &ask->slowdown))
		argp_error(state, "--self-test is a slowdown such as 30%%, not '%s'",
			   arg);
}

static void set_alpha(struct argp_state *state, struct gate_options *ask,
		      const char *arg)
{
	if (!number_real(arg, &ask->config.alpha) || ask->config.alpha <= 0 ||
	    ask->config.alpha > .5)
		argp_error(state, "--alpha is above 0, up to 0.5, not '%s'", arg);
}

static const struct argument arguments[] = {
#define AT(key, kind, member) ARGUMENT(gate_options, key, kind, member)
	AT(BASELINE, TEXT, baseline),
	AT(UPDATE, FLAG, update),
	AT(RUN, TEXT, run),
	AT(ENVIRONMENT, FLAG, config.any_environment),
	AT(CONFIRM, FLAG, confirm),
	AT(INCONCLUSIVE, WORD, inconclusive),
	ARGUMENT_NUMBER(gate_options, PAIRS, pairs, 0, GATE_PAIRS_MOST),
	AT(REPETITION, TIME, seconds),
	AT(TIMEOUT, TIME, measure.timeout_s),
	AT(GRACE, TIME, measure.grace_s),
	AT('o', TEXT, output),
	AT(JUNIT, TEXT, junit),
	AT(MARKDOWN, TEXT, markdown),
	AT(GITHUB, FLAG, github),
	AT(JSON, FLAG, json),
	AT('q', FLAG, quiet),
	AT('v', FLAG, verbose),
	{0},
#undef AT
};

/* What is compared with what. */
static void check_sides(struct argp_state *state, const struct gate_options *ask)
{
	bool program = ask->measure.command != NULL;

	if (ask->baseline == NULL && (ask->update || ask->against == NULL))
		argp_error(state, "compared with what? Give --baseline FILE, or "
				  "--against CMD");
	if (ask->baseline != NULL && ask->against != NULL)
		argp_error(state, "--baseline and --against are two things to compare "
				  "with: give one of them");
	if (ask->run != NULL && (program || ask->against != NULL || ask->update ||
				 ask->confirm || ask->self_test))
		argp_error(state, "--run judges what was measured already: nothing is "
				  "run beside it");
	if (ask->run == NULL && !program && !ask->self_test)
		argp_error(state, "which program? (dsa gate [OPTION...] -- CMD...)");
}

/* What can't go together. */
static void gate_options_check_only(struct argp_state *state,
				    const struct gate_options *ask)
{
	check_sides(state, ask);
	if (ask->self_test && (ask->against != NULL || ask->update))
		argp_error(state, "--self-test needs no --against and no --update");
	if (ask->self_test && ask->pairs == 0)
		argp_error(state, "--self-test is of what is timed: it needs --pairs");
	if (ask->json + ask->github + gate_options_is_standard(ask->markdown) +
		    gate_options_is_standard(ask->junit) >
	    1)
		argp_error(state, "--json, --github, --markdown=- and --junit=- all "
				  "want standard output: give one of them");
}

static error_t gate_options_parse(int key, char *arg, struct argp_state *state)
{
	struct gate_options *ask = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &ask->settings;
		return 0;
	case AGAINST:
		set_against(state, ask, arg);
		return 0;
	case SELF_TEST:
		set_self_test(state, ask, arg);
		return 0;
	case METRIC:
		set_metric(state, ask, arg);
		return 0;
	case REGRESSION:
		set_regression(state, ask, arg);
		return 0;
	case ALPHA:
		set_alpha(state, ask, arg);
		return 0;
	case SAMPLES:
		if (!number_whole(arg, UINT64_MAX - 1, &ask->samples) ||
		    ask->samples == 0)
			argp_error(state, "--samples is a number, not '%s'", arg);
		return 0;
	case ARGP_KEY_ARG: /* and all that follow are the program's */
		ask->measure.command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		gate_options_check_only(state, ask);
		apply_regression(ask);
		return 0;
	default:
		return argument_take(options, arguments, key, arg, state);
	}
}

static const struct argp_child children[] = {{&settings_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options,
	.parser = gate_options_parse,
	.args_doc = "-- CMD...",
	.doc = "Fail a build when training waits longer for its data than it did.",
	.children = children,
};

/* With --pairs=0 nothing is timed; where no timed metric is compared nothing need be. */
static void leave_out_timed(struct gate_options *ask)
{
	for (int i = 0; ask->pairs == 0 && i < GATE_METRICS; i++)
		if (gate_metrics[i].tier != GATE_EXACT)
			ask->config.limits[i] = INFINITY;
	if (!ask->update && !ask->self_test && !gate_config_is_timed(&ask->config))
		ask->pairs = 0;
}

static int gate_options_answer(struct gate_options *ask)
{
	struct error err = {0};
	int result;

	leave_out_timed(ask);
	ask->config.paired = ask->against != NULL || ask->self_test;
	result = ask->pairs > 0 && !ask->update
			 ? gate_check(&ask->config, NULL, ask->pairs, &err)
			 : 0;
	if (result < 0)
		return cmd_fail(&err), 2;
	if (gate_options_writable(ask, &err) < 0)
		return cmd_fail(&err);
	if (ask->self_test)
		return gate_options_check(ask);
	return ask->update ? gate_options_update(ask) : gate_options_judge(ask);
}

static int gate_main(int argc, char **argv)
{
	struct gate_options ask = {
		.settings = {.unfit = 1u << SETTING_STEPS},
		.measure = {.timeout_s = 60, .grace_s = 10, .precision = .01},
		.pairs = 8,
		.seconds = 2,
		.slowdown = .3,
		.regression = NAN,
		.inconclusive = GATE_STATUS_INCONCLUSIVE,
	};
	struct error err = {0};
	char *loader, *again;
	int status;

	gate_config_init(&ask.config);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &ask);
	loader = settings_loader(&ask.settings, getenv("DSA_LOADER"));
	again = shell_quote_words(argv);
	ask.measure.loader = loader;
	ask.measure.repeat = ask.again = again;
	ask.measure.dataset = ask.settings.dataset;
	ask.measure.seed = ask.settings.seed;
	ask.measure.cores = ask.settings.cores;
	if (loader != NULL && again != NULL) {
		status = gate_options_answer(&ask);
	} else {
		error_sys(&err, ENOMEM, "starting");
		status = cmd_fail(&err);
	}
	free(loader);
	free(again);
	free(ask.against);
	return status;
}

const struct command command_gate = {
	.name = "gate",
	.summary = "fail a build when training waits longer than it did",
	.argp = &argp,
	.run = gate_main,
};
