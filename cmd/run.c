/* run.c - runs a training program, measures where it waits for data, and says so. */
#include "cmd/cmd.h"
#include "cmd/quote.h"
#include "cmd/result.h"
#include "cmd/settings.h"
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "profiler/analyse.h"
#include "profiler/measure.h"
#include "profiler/statistics.h"
#include "reports/form.h"
#include "reports/terminal.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
	struct settings settings;
	struct measure_config measure;
	const char *output;
	bool json, quiet, verbose;
	bool target_status; /* end with the program's exit status */
	bool shown;         /* a progress line stands on the terminal */
};

/* Keys without a letter; settings.c has its own from 1000 on. */
enum { PRECISION = 300, BUDGET, PROTOCOL, OBSERVE, EXIT_STATUS, GRACE, TIMEOUT, JSON };

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "The measurement:", 1},
	{"precision", PRECISION, "POINTS", 0,
	 "Stop when each share is known to so many points (default 1)", 0},
	{"budget", BUDGET, "TIME", 0, "Stop after that time anyway (default 60s)", 0},
	{"protocol", PROTOCOL, "interleaved|separate", 0,
	 "One launch that switches, or one for each kind of window (default "
	 "interleaved)",
	 0},
	{"observe", OBSERVE, NULL, 0, "Change nothing, only watch the whole training",
	 0},
	{"timeout", TIMEOUT, "TIME", 0,
	 "Wait so long for the first batch to be asked for (default 60s)", 0},
	{"grace", GRACE, "TIME", 0,
	 "Let the program take so long to leave when its data ended (default 10s)", 0},
	{NULL, 0, NULL, 0, "The result:", 2},
	{"output", 'o', "DIR", 0, "Write run.json and report.html there (dsa-out)", 0},
	{"json", JSON, NULL, 0, "Print run.json instead of the verdict", 0},
	{"exit-status", EXIT_STATUS, "own|target", 0,
	 "End with dsa's own status, or the program's (default own)", 0},
	{"quiet", 'q', NULL, 0, "Print nothing but errors", 0},
	{"verbose", 'v', NULL, 0, "Print each window", 0},
	{0},
};

static void duration(struct argp_state *state, const char *name, const char *arg,
		     double *seconds)
{
	if (!number_time(arg, seconds) || *seconds <= 0 || *seconds > 7 * 86400)
		argp_error(state, "--%s is a time such as 30s, not '%s'", name, arg);
}

/* "1", "0.5" and "1%" are points of a hundred. */
static void precision(struct argp_state *state, const char *arg, double *share)
{
	double value;

	if (number_percent(arg, &value))
		*share = value;
	else if (number_real(arg, &value))
		*share = value / 100;
	else
		*share = 0;
	if (*share < .0005 || *share > .5)
		argp_error(state, "--precision is 0.05 to 50 points, not '%s'", arg);
}

/* Which of two words it is: 0 or 1. */
static int either(struct argp_state *state, const char *name, const char *arg,
		  const char *const words[2])
{
	for (int i = 0; i < 2; i++)
		if (strcmp(arg, words[i]) == 0)
			return i;
	argp_error(state, "--%s is %s or %s, not '%s'", name, words[0], words[1], arg);
	return 0;
}

static void set_protocol(struct argp_state *state, struct run *run, const char *arg)
{
	static const char *const words[] = {"interleaved", "separate"};

	if (either(state, "protocol", arg, words) == 1)
		run->measure.protocol = MEASURE_SEPARATE;
}

static void set_exit_status(struct argp_state *state, struct run *run, const char *arg)
{
	static const char *const words[] = {"own", "target"};

	run->target_status = either(state, "exit-status", arg, words) == 1;
}

static error_t parse_measure(int key, char *arg, struct argp_state *state)
{
	struct run *run = state->input;

	switch (key) {
	case PRECISION:
		precision(state, arg, &run->measure.precision);
		return 0;
	case BUDGET:
		duration(state, "budget", arg, &run->measure.budget_s);
		return 0;
	case PROTOCOL:
		set_protocol(state, run, arg);
		return 0;
	case OBSERVE:
		run->measure.protocol = MEASURE_OBSERVE;
		return 0;
	case TIMEOUT:
		duration(state, "timeout", arg, &run->measure.timeout_s);
		return 0;
	case GRACE:
		duration(state, "grace", arg, &run->measure.grace_s);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run *run = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &run->settings;
		return 0;
	case 'o':
		run->output = arg;
		return 0;
	case JSON:
		run->json = true;
		return 0;
	case EXIT_STATUS:
		set_exit_status(state, run, arg);
		return 0;
	case 'q':
		run->quiet = true;
		return 0;
	case 'v':
		run->verbose = true;
		return 0;
	case ARGP_KEY_ARG: /* and all that follow are the program's */
		run->measure.command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which program? (dsa run [OPTION...] -- CMD...)");
		return 0;
	default:
		return parse_measure(key, arg, state);
	}
}

static const struct argp_child children[] = {{&settings_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "-- CMD...",
	.doc = "Run a training program and measure where it waits for data.",
	.children = children,
};

/* ---- progress ---- */

static void clear_line(struct run *run)
{
	if (run->shown)
		fputs("\r\033[K", stderr);
	run->shown = false;
}

static void tell(void *context, const struct conductor_news *news)
{
	struct run *run = context;
	const struct shares *shares = news->shares;
	double left = fmax(0, news->budget_s - news->elapsed_s);

	fprintf(stderr, "\r%u windows, %u blocks", news->windows, shares->blocks);
	if (shares->blocks >= 2)
		fprintf(stderr, ": compute %.1f%%, prep %.1f%%, fetch %.1f%% ±%.1f",
			100 * shares->compute.value, 100 * shares->prep.value,
			100 * shares->fetch.value,
			100 * fmax(statistics_half(shares->prep),
				   statistics_half(shares->fetch)));
	fprintf(stderr, "; at most %.0f s left\033[K", left);
	run->shown = true;
}

static void print_windows(const struct profile *profile)
{
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		fprintf(stderr, "%7.2f s %-9s", window->start_s, window->kind);
		if (window->steps != UNKNOWN)
			fprintf(stderr, " %6.0f samples/s %5.2f s", window->per_s,
				window->length_s);
		fprintf(stderr, "  %s\n", window->why);
	}
}

/* ---- the result ---- */

static int print(const struct run *run, const struct profile *profile,
		 struct error *err)
{
	struct form_style style = terminal_style(stdout);
	char report[PATH_MAX];

	snprintf(report, sizeof(report), "%s/report.html", run->output);
	style.where = report;
	if (run->json)
		return form_find("json", err)->write(profile, &style, stdout, err);
	if (run->quiet)
		return 0;
	return form_find("text", err)->write(profile, &style, stdout, err);
}

static int status_of(const struct run *run, const struct profile *profile)
{
	if (run->target_status && profile->target_status >= 0)
		return profile->target_status;
	if (analyse_complete(profile))
		return 0;
	fprintf(stderr, "dsa: not all three shares were measured: %s%s%s\n",
		profile->status, profile->status_why != NULL ? ": " : "",
		profile->status_why != NULL ? profile->status_why : "");
	return 3;
}

/* Keeps and shows the result; the sessions go only when it is safe. */
static int conclude(const struct run *run, const struct profile *profile)
{
	struct error err = {0};
	int result = result_save(run->output, profile, &err);

	if (result == 0)
		measure_forget(run->output);
	if (run->verbose)
		print_windows(profile);
	if (print(run, profile, result == 0 ? &err : NULL) < 0)
		result = -EIO;
	if (result < 0)
		return cmd_fail(&err);
	return status_of(run, profile);
}

static void prepare(struct run *run)
{
	const struct settings *settings = &run->settings;
	struct measure_config *config = &run->measure;

	config->folder = run->output;
	config->dataset = settings->dataset;
	config->seed = settings->seed;
	config->steps = settings->steps;
	config->cores = settings->cores;
	config->output_aside = run->json;
	if (isatty(STDERR_FILENO) && !run->quiet) {
		config->tell = tell;
		config->context = run;
	}
	if (config->protocol != MEASURE_OBSERVE && !run->quiet)
		fputs("dsa: windows repeat data and end it early: the model that is "
		      "trained is not for use\n",
		      stderr);
}

static int measure_and_conclude(struct run *run)
{
	struct profile profile;
	struct error err = {0};
	int status;

	profile_init(&profile);
	prepare(run);
	if (measure(&run->measure, &profile, &err) < 0) {
		clear_line(run);
		status = cmd_fail(&err);
	} else {
		clear_line(run);
		status = conclude(run, &profile);
	}
	profile_free(&profile);
	return status;
}

static int run_main(int argc, char **argv)
{
	struct run run = {
		.measure = {.budget_s = 60,
			    .precision = .01,
			    .timeout_s = 60,
			    .grace_s = 10},
		.output = "dsa-out",
	};
	struct error err = {0};
	char *loader, *repeat;
	int status;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &run);
	if (result_folder(run.output, &err) < 0)
		return cmd_fail(&err);
	loader = settings_loader(&run.settings, getenv("DSA_LOADER"));
	repeat = quote_words(argv);
	run.measure.loader = loader;
	run.measure.repeat = repeat;
	if (loader != NULL && repeat != NULL) {
		status = measure_and_conclude(&run);
	} else {
		error_sys(&err, ENOMEM, "starting the run");
		status = cmd_fail(&err);
	}
	free(loader);
	free(repeat);
	return status;
}

const struct command command_run = {
	.name = "run",
	.summary = "measure where a training program waits for data",
	.argp = &argp,
	.run = run_main,
};
