/* gate_options.c - dsa gate: fails a build when training waits longer for data. */
#include "cmd/gate/gate_options.h"
#include "cmd/common/cmd.h"
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "loader/base/text/shell_word.h"
#include "models/gate/gate_config.h"
#include "models/gate/gate_looks.h"
#include "models/gate/gate_statistics.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_UNASKED = INT_MAX, BASELINE_PAIRS = 12 };

/* "30%", "300%". */
static bool read_percent(const char *text, double *share)
{
	char number[32];
	size_t length = strlen(text);

	if (length < 2 || length > sizeof(number) || text[length - 1] != '%')
		return false;
	memcpy(number, text, length - 1);
	number[length - 1] = '\0';
	if (!number_real(number, share))
		return false;
	*share /= 100;
	return *share >= 0;
}

/* "5%" and "0.05"; off. "5" is a slip for "5%". */
static bool read_limit(const char *text, double *limit)
{
	if (strcmp(text, "off") == 0)
		*limit = INFINITY;
	else if (!read_percent(text, limit))
		return number_real(text, limit) && *limit >= 0 && *limit < 1;
	return true;
}

static void gate_set_metric(struct argp_state *state, void *member, const char *arg)
{
	const char *equals = strchr(arg, '=');
	double *limits = member;
	char name[64];
	double limit;
	int metric;

	snprintf(name, sizeof(name), "%.*s", equals != NULL ? (int)(equals - arg) : 0,
		 arg);
	metric = gate_metric_find(name);
	if (equals != NULL && metric < 0) {
		argument_error(state, "no metric is called '%s'; see dsa-gate(1)",
			       name);
		return;
	}
	if (equals == NULL || !read_limit(equals + 1, &limit)) {
		argument_error(state,
			       "--metric is NAME=LIMIT, as samples_per_s=5%% or "
			       "=0.05, or NAME=off, not '%s'",
			       arg);
		return;
	}
	limits[metric] = limit;
}

static void gate_set_regression(struct argp_state *state, void *limit, const char *arg)
{
	if (!read_limit(arg, limit) || isinf(*(double *)limit))
		argument_error(state,
			       "--max-regression is a limit such as 5%%, not '%s'",
			       arg);
}

/* Of timed metrics that are on and have no limit of their own. */
static void apply_regression(struct gate_options *ask)
{
	for (int i = 0; !isnan(ask->regression) && i < GATE_METRICS; i++)
		if (gate_metrics[i].tier != GATE_EXACT &&
		    !isinf(gate_metrics[i].limit) && isnan(ask->config.limits[i]))
			ask->config.limits[i] = ask->regression;
}

static void gate_set_against(struct argp_state *state, void *member, const char *arg)
{
	struct error err = {0};
	char ***against = member;

	free(*against); /* typed: it overrides the file */
	*against = shell_split(arg, &err);
	if (*against == NULL)
		argument_error(state, "--against='%s': %s", arg, err.message);
}

static void gate_set_self_test(struct argp_state *state, void *options, const char *arg)
{
	struct gate_options *ask = options;

	ask->self_test = true;
	if (arg != NULL && !(read_percent(arg, &ask->slowdown) && ask->slowdown > 0 &&
			     ask->slowdown <= 100))
		argument_error(state,
			       "--self-test is a slowdown such as 30%%, not '%s'", arg);
}

static void gate_set_alpha(struct argp_state *state, void *member, const char *arg)
{
	double *alpha = member;

	if (!number_real(arg, alpha) || *alpha <= 0 || *alpha >= .5)
		argument_error(state, "--alpha lies between 0 and 0.5, it is not '%s'",
			       arg);
}

static void gate_set_samples(struct argp_state *state, void *member, const char *arg)
{
	uint64_t *samples = member;

	if (!number_whole(arg, UINT64_MAX - 1, samples) || *samples == 0)
		argument_error(state, "--samples is a number, not '%s'", arg);
}

/* What is compared with what. */
static void check_sides(struct argp_state *state, const struct gate_options *ask)
{
	bool program = ask->measure.startup.command != NULL;

	if (ask->baseline == NULL && (ask->update || ask->against == NULL))
		argument_error(state, "compared with what? Give --baseline FILE, or "
				      "--against CMD");
	if (ask->baseline != NULL && ask->against != NULL)
		argument_error(state,
			       "--baseline and --against are two things to compare "
			       "with: give one of them");
	if (ask->run != NULL && (program || ask->against != NULL || ask->update ||
				 ask->confirm || ask->self_test))
		argument_error(state,
			       "--run judges what was measured already: nothing is "
			       "run beside it");
	if (ask->run == NULL && !program && !ask->self_test)
		argument_error(state,
			       "which program? (dsa gate [OPTION...] -- CMD...)");
}

/* What can't go together. */
static void gate_options_check_only(struct argp_state *state, void *options)
{
	const struct gate_options *ask = options;

	check_sides(state, ask);
	if (ask->self_test && (ask->against != NULL || ask->update))
		argument_error(state, "--self-test needs no --against and no --update");
	if (ask->self_test && ask->pairs == 0)
		argument_error(state,
			       "--self-test is of what is timed: it needs --pairs");
	if (ask->json + ask->github + gate_options_is_standard(ask->markdown) +
		    gate_options_is_standard(ask->junit) >
	    1)
		argument_error(state,
			       "--json, --github, --markdown=- and --junit=- all "
			       "want standard output: give one of them");
	if ((ask->update || ask->self_test) &&
	    (ask->json || ask->github || gate_options_is_standard(ask->markdown) ||
	     gate_options_is_standard(ask->junit)))
		argument_error(state,
			       "--json, --github, --markdown=- and --junit=- print a "
			       "verdict: --update and --self-test give none");
}

#define TO(kind, member) ARGUMENT(gate_options, kind, member)
#define BY(set, member)  ARGUMENT_BY(gate_options, member, set)

static const struct argument arguments[] = {
	ARGUMENT_HEADING(1, "What it is compared with:"),
	{"baseline", 0, "FILE", TO(TEXT, baseline),
	 "What was measured before, a committed file"},
	{"update", 0, NULL, TO(FLAG, update),
	 "Measure, and append it to the baseline as one more session"},
	{"against", 0, "CMD", BY(gate_set_against, against),
	 "Another command, run in turns with this one, so that drift cancels"},
	{"run", 0, "RUN", TO(TEXT, run),
	 "Judge an earlier measurement (a run's folder or its run.json, or a "
	 "baseline), "
	 "run nothing"},
	{"self-test", 0, "PERCENT", ARGUMENT_ALL_BY(MAYBE, gate_set_self_test),
	 "Test whether a slowdown of PERCENT (default 30%) would be found here"},
	{"allow-env-change", 0, NULL, TO(FLAG, config.any_environment),
	 "Allow another machine: timed metrics are then reported but cannot fail"},
	ARGUMENT_HEADING(2, "What is a regression:"),
	{"metric", 0, "NAME=LIMIT", BY(gate_set_metric, config.limits),
	 "How much worse a metric may get (5%), or off; dsa-gate(1) lists them"},
	{"max-regression", 0, "LIMIT", BY(gate_set_regression, regression),
	 "The limit of timed metrics without a --metric"},
	{"alpha", 0, "P", BY(gate_set_alpha, config.alpha),
	 "Level of all tests together (default 0.05)"},
	{"confirm", 0, NULL, TO(FLAG, confirm),
	 "Measure once more before the build fails"},
	{"inconclusive", 0, "pass|fail", TO(WORD, inconclusive),
	 "Exit status of an inconclusive comparison, instead of 4"},
	ARGUMENT_HEADING(3, "The measurement:"),
	{"loader", 0, "auto|dsa|torch|none", TO(WORD, measure.startup.choice),
	 "Whose loader is measured, as of dsa run (default auto)"},
	{"epochs", 0, "auto|own", TO(WORD, measure.startup.own_epochs),
	 "Where epochs of a PyTorch program end, as of dsa run (default auto)"},
	{"pairs", 0, "N", ARGUMENT_NUMBER(gate_options, pairs, 0, GATE_PAIRS_MOST),
	 "Repetitions of each side (default: 7 to 32, until they decide; 12 with "
	 "--update); 0: exact counts alone"},
	{"repetition", 0, "TIME", TO(TIME, seconds), "Length of each (default 2s)"},
	{"samples", 0, "N", BY(gate_set_samples, samples),
	 "Count the work of N samples (default: the data set, at most 4096)"},
	{"timeout", 0, "TIME", TO(TIME, measure.timeout_s),
	 "Give up when no batch is asked for within TIME (default 60s)"},
	{"grace", 0, "TIME", TO(TIME, measure.grace_s),
	 "Time that the program has to end after its data (default 10s)"},
	ARGUMENT_HEADING(4, "The result:"),
	{"output", 'o', "DIR", TO(TEXT, output),
	 "Write the measurement and the verdict there"},
	{"junit", 0, "FILE", TO(TEXT, junit), "Write a test case for each metric"},
	{"markdown", 0, "FILE", TO(TEXT, markdown),
	 "Write the verdict as Markdown; - is standard output"},
	{"github", 0, NULL, TO(FLAG, github),
	 "Print annotations, write the step summary"},
	{"json", 0, NULL, TO(FLAG, json), "Print the verdict as JSON"},
	{"quiet", 'q', NULL, TO(FLAG, quiet), "Print nothing but errors"},
	{"verbose", 'v', NULL, TO(FLAG, verbose), "Print each repetition"},
	{NULL, 0, "-- CMD...", TO(REST, measure.startup.command), NULL},
	SETTINGS(gate_options),
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

/* A number that was asked for is taken; nothing is to be decided for a baseline. */
static void gate_options_plan(struct gate_options *ask)
{
	if (ask->pairs != PAIRS_UNASKED)
		return;
	ask->config.looks = !ask->update;
	ask->pairs = ask->update ? BASELINE_PAIRS : GATE_LOOKS_MOST;
}

static int gate_options_answer(struct gate_options *ask)
{
	struct error err = {0};
	int result;

	apply_regression(ask);
	leave_out_timed(ask);
	gate_options_plan(ask);
	ask->config.paired = ask->against != NULL || ask->self_test;
	result = ask->pairs > 0 && !ask->update
			 ? gate_check(&ask->config, NULL, ask->pairs, &err)
			 : 0;
	if (result < 0)
		return cmd_refuse(&err);
	if (ask->run == NULL && settings_check_cores(&ask->settings, &err) < 0)
		return cmd_fail(&err);
	if (gate_options_writable(ask, &err) < 0)
		return cmd_fail(&err);
	if (ask->self_test)
		return gate_options_check(ask);
	return ask->update ? gate_options_update(ask) : gate_options_judge(ask);
}

static int gate_main(const struct command *self, int argc, char **argv)
{
	struct gate_options ask = {
		.measure = {.timeout_s = 60, .grace_s = 10, .precision = .01},
		.pairs = PAIRS_UNASKED,
		.seconds = 2,
		.slowdown = .3,
		.regression = NAN,
		.inconclusive = GATE_STATUS_INCONCLUSIVE,
	};
	struct error err = {0};
	char *loader, *asked, *again;
	int status;

	gate_config_init(&ask.config);
	argument_read(self, argc, argv, &ask);
	loader = settings_loader(&ask.settings, getenv("DSA_LOADER"));
	asked = settings_loader(&ask.settings, NULL);
	again = shell_words(argv[0], argv + 1);
	ask.measure.startup.loader = loader;
	ask.measure.startup.asked = asked;
	ask.measure.repeat = again;
	ask.measure.dataset = ask.settings.given[SETTING_DATASET];
	ask.measure.seed = ask.settings.seed;
	ask.measure.startup.cores = ask.settings.cores;
	if (loader != NULL && asked != NULL && again != NULL) {
		status = gate_options_answer(&ask);
	} else {
		error_sys(&err, ENOMEM, "starting");
		status = cmd_fail(&err);
	}
	free(loader);
	free(asked);
	free(again);
	free(ask.against);
	return status;
}

const struct command command_gate = {
	.name = "gate",
	.summary = "fail a build when training waits longer than it did",
	.arguments = arguments,
	.unfit = 1u << SETTING_STEPS,
	.check = gate_options_check_only,
	.doc = "Fail a build when training waits longer for its data than it did.",
	.run = gate_main,
};
