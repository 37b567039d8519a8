/* run.c - dsa run: measures where a training program waits for data. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/progress.h"
#include "cmd/common/result.h"
#include "cmd/common/settings.h"
#include "cmd/common/shell_quote.h"
#include "cmd/run/run_end.h"
#include "loader/base/error.h"
#include "loader/base/text/shell_word.h"
#include "profiler/analysis/analyse.h"
#include "profiler/analysis/statistics.h"
#include "profiler/run/barrier.h"
#include "profiler/run/measure.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct run {
	struct settings settings;
	struct measure_config measure;
	char **jobs[BARRIER_JOBS]; /* commands of --job */
	unsigned job_count;
	struct run_end end;
};

/* Keys without a letter; settings.c has its own from 1000 on. */
enum {
	JOBS = 300,
	JOB,
	SHARE,
	PRECISION,
	BUDGET,
	PROTOCOL,
	OBSERVE,
	EXIT_STATUS,
	GRACE,
	TIMEOUT,
	JSON,
	SWEEP,
	SWEEP_BUDGET
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Several jobs at once:", 1},
	{"jobs", JOBS, "N", 0,
	 "Run N copies of the program; {job} in its words and DSA_JOB is the number",
	 0},
	{"job", JOB, "CMD", 0, "Run this command too; may be given several times", 0},
	{"share", SHARE, NULL, 0, "One loader for all jobs", 0},
	{NULL, 0, NULL, 0, "The measurement:", 1},
	{"precision", PRECISION, "POINTS", 0,
	 "Stop when each share is known to so many points (default 1)", 0},
	{"budget", BUDGET, "TIME", 0, "Stop after TIME at the latest (default 60s)", 0},
	{"protocol", PROTOCOL, "interleaved|separate", 0,
	 "One launch that switches, or one for each kind of window (default "
	 "interleaved)",
	 0},
	{"observe", OBSERVE, NULL, 0, "Change nothing, only watch the whole training",
	 0},
	{"timeout", TIMEOUT, "TIME", 0,
	 "Give up when no batch is asked for within TIME (default 60s)", 0},
	{"grace", GRACE, "TIME", 0,
	 "Time that the program has to end after its data (default 10s)", 0},
	{NULL, 0, NULL, 0, "Then:", 2},
	{"sweep", SWEEP, "KEY=VALUES", 0,
	 "Then try every combination of these changes: cores=1,2 or cache=0%..100%; "
	 "keys are the options of dsa whatif",
	 0},
	{"sweep-budget", SWEEP_BUDGET, "TIME", 0,
	 "Time to measure each of them (default 20s)", 0},
	{NULL, 0, NULL, 0, "The result:", 3},
	{"output", 'o', "DIR", 0, "Write run.json and report.html there (dsa-out)", 0},
	{"json", JSON, NULL, 0, "Print run.json instead of the verdict", 0},
	{"exit-status", EXIT_STATUS, "own|target", 0,
	 "End with dsa's own status, or the program's (default own)", 0},
	{"quiet", 'q', NULL, 0, "Print nothing but errors", 0},
	{"verbose", 'v', NULL, 0, "Print each window", 0},
	{0},
};

static void set_sweep(struct argp_state *state, struct run *run, const char *arg)
{
	struct error err = {0};

	if (sweep_set_pair(&run->end.sweep, arg, &err) < 0)
		argp_error(state, "--sweep: %s", err.message);
}

static void run_add_job(struct argp_state *state, struct run *run, const char *arg)
{
	struct error err = {0};

	if (run->job_count == BARRIER_JOBS)
		argp_error(state, "--job may be given %d times", BARRIER_JOBS);
	run->jobs[run->job_count] = shell_split(arg, &err);
	if (run->jobs[run->job_count] == NULL)
		argp_error(state, "--job='%s': %s", arg, err.message);
	run->job_count++;
}

/* What can't go together. */
static void run_check(struct argp_state *state, const struct run *run)
{
	unsigned jobs = run->job_count + run->measure.jobs;

	if (run->job_count > 0 && run->measure.jobs > 0)
		argp_error(state, "--jobs counts copies of one program, --job names "
				  "different ones: give one of them");
	if (run->job_count > 0 && run->measure.command != NULL)
		argp_error(state, "--job names all programs: '%s' is one too many",
			   run->measure.command[0]);
	if (run->job_count == 0 && run->measure.command == NULL)
		argp_error(state, "which program? (dsa run [OPTION...] -- CMD...)");
	if (jobs > 1 && run->measure.protocol == MEASURE_SEPARATE)
		argp_error(state, "several jobs are measured with "
				  "--protocol=interleaved or --observe");
	if (run->measure.share && run->measure.protocol != MEASURE_INTERLEAVED)
		argp_error(state, "a shared loader is measured with "
				  "--protocol=interleaved");
	if ((jobs > 1 || run->measure.share) && run_end_sweeps(&run->end))
		argp_error(state, "--sweep measures one job: leave the others out");
}

static const struct argument arguments[] = {
#define AT(key, kind, member) ARGUMENT(run, key, kind, member)
	ARGUMENT_NUMBER(run, JOBS, measure.jobs, 1, BARRIER_JOBS),
	AT(SHARE, FLAG, measure.share),
	AT(BUDGET, TIME, measure.budget_s),
	AT(TIMEOUT, TIME, measure.timeout_s),
	AT(GRACE, TIME, measure.grace_s),
	AT(SWEEP_BUDGET, TIME, end.trials.budget_s),
	AT('o', TEXT, end.output),
	AT(JSON, FLAG, end.json),
	AT('q', FLAG, end.quiet),
	AT('v', FLAG, end.verbose),
	{0},
#undef AT
};

static error_t run_parse(int key, char *arg, struct argp_state *state)
{
	struct run *run = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &run->settings;
		return 0;
	case JOB:
		run_add_job(state, run, arg);
		return 0;
	case PRECISION:
		argument_precision(state, arg, &run->measure.precision);
		return 0;
	case PROTOCOL:
		if (argument_word(options, key, arg, state) == 1)
			run->measure.protocol = MEASURE_SEPARATE;
		return 0;
	case OBSERVE:
		run->measure.protocol = MEASURE_OBSERVE;
		return 0;
	case SWEEP:
		set_sweep(state, run, arg);
		return 0;
	case EXIT_STATUS:
		run->end.target_status = argument_word(options, key, arg, state) == 1;
		return 0;
	case ARGP_KEY_ARG: /* and all that follow are the program's */
		run->measure.command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		run_check(state, run);
		return 0;
	default:
		return argument_take(options, arguments, key, arg, state);
	}
}

static const struct argp_child children[] = {{&settings_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options,
	.parser = run_parse,
	.args_doc = "-- CMD...\n--job=CMD --job=CMD...",
	.doc = "Run a training program and measure where it waits for data.",
	.children = children,
};

/* ---- progress ---- */

/* The widest half-width of a stall. */
static double run_widest(const struct shares *shares)
{
	double half = NAN;

	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		half = fmax(half, statistics_half(shares->stalls[i]));
	return half;
}

static void run_progress(void *context, const struct conductor_progress *news)
{
	const struct shares *shares = news->shares;
	FILE *to = progress_line();

	(void)context;
	fprintf(to, "%u windows, %u blocks", news->windows, shares->blocks);
	for (int i = 0; shares->blocks >= 2 && i < STAGES; i++)
		if (!isnan(shares->stalls[i].value))
			fprintf(to, "%s %s %.1f%%", i == 0 ? ":" : ",",
				stage_table[i].key, 100 * shares->stalls[i].value);
	if (shares->blocks >= 2)
		fprintf(to, " ±%.1f", 100 * run_widest(shares));
	fprintf(to, "; at most %.0f s left", fmax(0, news->budget_s - news->elapsed_s));
}

/* ---- the run ---- */

static int keep_job(void *context, const char *folder, const struct profile *own,
		    struct error *err)
{
	(void)context;
	return result_save(folder, own, err);
}

static void run_prepare(struct run *run)
{
	const struct settings *settings = &run->settings;
	struct measure_config *config = &run->measure;

	config->folder = run->end.output;
	config->dataset = settings->dataset;
	config->seed = settings->seed;
	config->steps = settings->steps;
	config->cores = settings->cores;
	config->output_aside = run->end.json;
	config->keep = keep_job;
	if (run->job_count > 0) {
		config->jobs = run->job_count;
		config->commands = (char *const *const *)run->jobs;
		config->command = run->jobs[0];
	}
	run->end.trials.quiet = run->end.quiet;
	run->end.trials.verbose = run->end.verbose;
	if (progress_wanted(run->end.quiet))
		config->progress = run_progress;
	if (config->protocol != MEASURE_OBSERVE && !run->end.quiet)
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
	run_prepare(run);
	status = measure(&run->measure, &profile, &err);
	progress_clear();
	status = status < 0 ? cmd_fail(&err) : run_end(&run->end, &profile);
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
		.end = {.output = "dsa-out",
			.trials = {.budget_s = 20, .precision = .01}},
	};
	struct error err = {0};
	char *loader, *repeat;
	int status;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &run);
	run.end.observed = run.measure.protocol == MEASURE_OBSERVE;
	if (run_end_check(&run.end, &err) < 0)
		return cmd_refuse(&err);
	if (result_folder(run.end.output, &err) < 0)
		return cmd_fail(&err);
	loader = settings_loader(&run.settings, getenv("DSA_LOADER"));
	repeat = shell_quote_words(argv);
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
	for (unsigned i = 0; i < run.job_count; i++)
		free(run.jobs[i]);
	return status;
}

const struct command command_run = {
	.name = "run",
	.summary = "measure where a training program waits for data",
	.argp = &argp,
	.run = run_main,
};
