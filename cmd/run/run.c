/* run.c - dsa run: measures where a training program waits for data. */
#include "cmd/common/cmd.h"
#include "cmd/common/price_list.h"
#include "cmd/common/progress.h"
#include "cmd/common/result.h"
#include "cmd/common/settings.h"
#include "cmd/run/run_end.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/text/shell_word.h"
#include "loader/base/trace.h"
#include "profiler/analysis/shares.h"
#include "profiler/run/conductor/barrier.h"
#include "profiler/run/measure.h"
#include "reports/common/file.h"
#include "reports/common/format.h"
#include "reports/terminal/terminal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
	struct settings settings;
	struct measure_config measure;
	char **jobs[BARRIER_JOBS]; /* commands of --job */
	unsigned job_count;
	struct run_end end;
	struct injection_path injection;
	enum gpu_choice gpu;
	unsigned ends_data;   /* 1: the loop of such a program ends, not the program */
	unsigned overwrites;  /* 1: files are not kept that the program overwrites */
	bool warned, leaving; /* the user was told */
	struct preload_hidden hidden; /* the user was told; "": nothing */
	char told[TRACE_WHY]; /* why the program goes on without dsa; "": nothing */
	uint64_t next_line;   /* clock_now(): of the progress; 0: none yet */
};

static void run_set_sweep(struct argp_state *state, void *sweep, const char *arg)
{
	struct error err = {0};

	if (sweep_set_pair(sweep, arg, &err) < 0)
		argument_error(state, "--sweep: %s", err.message);
}

static void run_add_job(struct argp_state *state, void *options, const char *arg)
{
	struct run *run = options;
	struct error err = {0};

	if (run->job_count == BARRIER_JOBS)
		argument_error(state, "--job may be given %d times", BARRIER_JOBS);
	run->jobs[run->job_count] = shell_split(arg, &err);
	if (run->jobs[run->job_count] == NULL)
		argument_error(state, "--job='%s': %s", arg, err.message);
	run->job_count++;
}

/* What can't go together; where nothing is switched, the protocol does not matter. */
static void run_check(struct argp_state *state, void *options)
{
	struct run *run = options;
	unsigned jobs = run->job_count + run->measure.startup.jobs;

	if (run->end.observed)
		run->measure.protocol = MEASURE_OBSERVE;
	if (run->job_count > 0 && run->measure.startup.jobs > 0)
		argument_error(state,
			       "--jobs counts copies of one program, --job names "
			       "different ones: give one of them");
	if (run->job_count > 0 && run->measure.startup.command != NULL)
		argument_error(state, "--job names all programs: '%s' is one too many",
			       run->measure.startup.command[0]);
	if (run->job_count == 0 && run->measure.startup.command == NULL)
		argument_error(state, "which program? (dsa run [OPTION...] -- CMD...)");
	if (jobs > 1 && run->measure.protocol == MEASURE_SEPARATE)
		argument_error(state, "several jobs are measured with "
				      "--protocol=interleaved or --observe");
	if (run->measure.startup.share && run->measure.protocol != MEASURE_INTERLEAVED)
		argument_error(state, "a shared loader is measured with "
				      "--protocol=interleaved");
	if (run->measure.startup.device != NULL && !run->measure.startup.share)
		argument_error(
			state,
			"--device is of a shared loader (--share): a program says "
			"itself where its batches go");
	if ((jobs > 1 || run->measure.startup.share) && run_end_sweeps(&run->end))
		argument_error(state, "--sweep measures one job: leave the others out");
}

#define TO(kind, member) ARGUMENT(run, kind, member)

static const struct argument arguments[] = {
	ARGUMENT_HEADING(1, "Several jobs at once:"),
	{"jobs", 0, "N", ARGUMENT_NUMBER(run, measure.startup.jobs, 1, BARRIER_JOBS),
	 "Run N copies of the program; {job} in its words and DSA_JOB is the number"},
	{"job", 0, "CMD", ARGUMENT_ALL_BY(CALL, run_add_job),
	 "Run this command too; may be given several times"},
	{"share", 0, NULL, TO(FLAG, measure.startup.share), "One loader for all jobs"},
	{"device", 0, "cuda[:N]", TO(TEXT, measure.startup.device),
	 "That loader copies to the device, once for all jobs there"},
	ARGUMENT_HEADING(2, "The measurement:"),
	{"loader", 0, "auto|dsa|torch|none", TO(WORD, measure.startup.choice),
	 "Whose loader is measured: the one that trains first, libdsa's, or a PyTorch "
	 "program's own; none preloads nothing (default auto)"},
	{"end", 0, "exit|data", TO(WORD, ends_data),
	 "How a PyTorch program ends that was measured: it exits, or its loops end "
	 "(default "
	 "exit)"},
	{"epochs", 0, "auto|own", TO(WORD, measure.startup.own_epochs),
	 "Where epochs of such a program end: auto repeats their data, and starts anew "
	 "with own where it can't take that; own ends them at its own length (default "
	 "auto)"},
	{"keep-files", 0, "yes|no", TO(WORD, overwrites),
	 "Keep what such a program overwrites while its data is repeated (default "
	 "yes)"},
	{"gpu", 0, "auto|cupti|none", TO(WORD, gpu),
	 "Watch what GPUs do by CUPTI: where its library lies beside dsa, or refuse to "
	 "run; "
	 "none leaves CUPTI to the program (default auto)"},
	{"precision", 0, "POINTS", TO(POINTS, measure.precision),
	 "Stop when each share is known to so many points (default 1)"},
	{"budget", 0, "TIME", TO(TIME, measure.budget_s),
	 "Measure for TIME at most (default 60s); --grace comes on top"},
	{"protocol", 0, "interleaved|separate", TO(WORD, measure.protocol),
	 "One launch that switches, or one for each kind of window (default "
	 "interleaved)"},
	{"observe", 0, NULL, TO(FLAG, end.observed),
	 "Change nothing, only watch the whole training"},
	{"max-requests", 0, "N",
	 ARGUMENT_WHOLE_OF(run, measure.most_gets, 1, LIMIT_REQUESTS),
	 "Ask servers for N objects at most (default: as many as one epoch)"},
	{"timeout", 0, "TIME", TO(TIME, measure.timeout_s),
	 "Give up when no batch is asked for within TIME (default 60s)"},
	{"grace", 0, "TIME", TO(TIME, measure.grace_s),
	 "Time that the program then has to end (default 10s)"},
	ARGUMENT_HEADING(3, "Then:"),
	{"sweep", 0, "KEY=VALUES", ARGUMENT_BY(run, end.sweep, run_set_sweep),
	 "Then try every combination of these changes: cores=1,2 or cache=0%..100%; "
	 "keys are the options of dsa whatif"},
	{"sweep-budget", 0, "TIME", TO(TIME, end.trials.budget_s),
	 "Time to measure each of them (default 20s)"},
	ARGUMENT_HEADING(4, "The result:"),
	{"prices", 0, "FILE", TO(TEXT, end.prices),
	 "Price list for what training and the run's requests cost, see dsa-prices(5)"},
	{"output", 'o', "DIR", TO(TEXT, end.output),
	 "Write run.json and report.html there (dsa-out)"},
	{"timeline", 0, "FILE", TO(TEXT, end.timeline),
	 "Write each step, batch and what devices did to FILE, which ui.perfetto.dev "
	 "shows"},
	{"json", 0, NULL, TO(FLAG, end.json), "Print run.json instead of the verdict"},
	{"exit-status", 0, "own|target", TO(WORD, end.target_status),
	 "End with dsa's own status, or the program's (default own)"},
	{"quiet", 'q', NULL, TO(FLAG, end.trials.quiet), "Print nothing but errors"},
	{"verbose", 'v', NULL, TO(FLAG, end.trials.verbose), "Print each window"},
	{NULL, 0, "-- CMD...\n--job=CMD --job=CMD...",
	 TO(REST, measure.startup.command), NULL},
	SETTINGS(run),
};

/* ---- what is told meanwhile ---- */

#define LINE_NS   5000000000u /* between two lines of progress */
#define TOO_ROUGH .5          /* half of an interval: it says nothing */

/* Windows are bad for a program that keeps what it trains. */
static void run_repeats(void *context)
{
	struct run *run = context;

	if (run->warned || run->end.trials.quiet)
		return;
	run->warned = true;
	fputs("dsa: measuring: data is repeated and ends early. Discard this model,\n"
	      "dsa: and keep its checkpoints apart (--observe trains as usual)\n",
	      stderr);
}

/* Before any window: what they may cost. */
static void run_bounded(void *context, uint64_t gets, double bytes)
{
	const struct run *run = context;
	char count[FORMAT_SIZE], size[FORMAT_SIZE], cost[FORMAT_SIZE];
	const struct profile_requests most = {.gets = gets, .bytes = (uint64_t)bytes};
	double price =
		run->end.prices == NULL ? NAN : cost_requests(&run->end.list, &most);

	if (run->end.trials.quiet)
		return;
	fprintf(stderr,
		"dsa: measuring asks for %s objects at most, about %s (--max-requests)",
		format_count(count, gets), format_bytes(size, bytes));
	if (isfinite(price))
		fprintf(stderr, ": up to %s %s", format_cost(cost, price),
			run->end.list.currency);
	fputs("\n", stderr);
}

static void run_unmeasured(void *context, const char *why)
{
	struct run *run = context;
	struct error err = {0};

	if (run->end.trials.quiet)
		return;
	snprintf(run->told, sizeof(run->told), "%.*s", TRACE_WHY - 1, why);
	error_set(&err, ENOTSUP, "the program goes on without dsa (Ctrl-C ends it): %s",
		  run->told);
	cmd_fail(&err);
}

/* Nobody observes a program to have it ended. */
static void run_silent(void *context, const char *what)
{
	const struct run *run = context;
	const char *hidden = run->hidden.why;
	struct error err = {0};

	if (run->end.trials.quiet || (*hidden != '\0' && strstr(what, hidden) != NULL))
		return; /* it was said when the program started */
	error_set(&err, ETIMEDOUT,
		  "the program %s; dsa waits for its end (Ctrl-C ends it)", what);
	cmd_fail(&err);
}

static void run_background(void *context, pid_t process)
{
	const struct run *run = context;

	if (!run->end.trials.quiet)
		fprintf(stderr,
			"dsa: the command ended, but process %d, which it started, "
			"goes on: dsa waits for it (Ctrl-C ends it)\n",
			(int)process);
}

static void run_overran(void *context, const char *why)
{
	const struct run *run = context;

	if (!run->end.trials.quiet)
		fprintf(stderr,
			"dsa: %s: measuring once more, with epochs that end where they "
			"would (--epochs=own); files that it made stay\n",
			why);
}

/* Says why, unless it has been said when the program went on. `target_status`: of a
 * program that failed by itself; 0 or less: it did not. */
static int run_fail(const struct run *run, int target_status, const struct error *err)
{
	bool told = run->told[0] != '\0' && strstr(err->message, run->told) != NULL;
	int status = told ? 3 : cmd_fail(err);

	return run->end.target_status && target_status > 0 ? target_status : status;
}

/* "prep 38.1% ±2.1, fetch 12.1% ±1.5" */
static void run_print_shares(const struct shares *shares)
{
	const char *sign = terminal_style(stderr).ascii ? "+-" : "±";

	if (shares->blocks < 2 || !(shares_half(shares) < TOO_ROUGH)) {
		fputs("no shares yet", stderr);
		return;
	}
	for (int i = 0; i < STAGES; i++)
		if (!isnan(shares->stalls[i].value))
			fprintf(stderr, "%s%s %.1f%% %s%.1f", i == 0 ? "" : ", ",
				stage_table[i].key, 100 * shares->stalls[i].value, sign,
				100 * interval_half(shares->stalls[i]));
}

/* Whole lines, few of them: the program prints on the same terminal. */
static void run_progress(void *context, const struct conductor_progress *news)
{
	struct run *run = context;
	uint64_t now = clock_now();

	if (news->leaving && !run->leaving)
		fprintf(stderr,
			"dsa: measured; waiting for the program to end, at most %g s "
			"(--grace)\n",
			run->measure.grace_s);
	run->leaving = news->leaving;
	if (run->next_line == 0)
		run->next_line = now + LINE_NS;
	if (news->leaving || now < run->next_line)
		return;
	run->next_line = now + LINE_NS;
	fputs("dsa: ", stderr);
	run_print_shares(news->shares);
	fprintf(stderr, "; at most %.0f s left\n",
		fmax(0, news->budget_s - news->elapsed_s));
}

/* ---- the run ---- */

static void run_prepare(struct run *run)
{
	const struct settings *settings = &run->settings;
	struct measure_config *config = &run->measure;

	config->folder = run->end.output;
	config->dataset = settings->given[SETTING_DATASET];
	config->seed = settings->seed;
	config->steps = settings->steps;
	config->startup.cores = settings->cores;
	config->startup.output_aside = run->end.json;
	config->keep = result_save;
	if (run->job_count > 0) {
		config->startup.jobs = run->job_count;
		config->startup.commands = (char *const *const *)run->jobs;
		config->startup.command = run->jobs[0];
	}
	config->context = run;
	config->repeats = run_repeats;
	config->unmeasured = run_unmeasured;
	config->background = run_background;
	config->bounded = run_bounded;
	config->overran = run_overran;
	run->end.trials.most_gets = config->most_gets;
	if (run->end.observed) { /* the training is as it is */
		config->most_gets = 0;
		config->silent = run_silent;
	}
	config->startup.injection = &run->injection;
	config->startup.ends_data = run->ends_data != 0;
	config->startup.overwrites = run->overwrites != 0;
	run->end.trials.choice = config->startup.choice;
	if (progress_wanted(run->end.trials.quiet) && !run->end.observed)
		config->progress = run_progress;
}

static int measure_and_conclude(struct run *run)
{
	struct profile profile;
	struct error err = {0};
	int status;

	profile_init(&profile);
	run_prepare(run);
	status = measure(&run->measure, &profile, &err);
	status = status < 0 ? run_fail(run, profile.target_status, &err)
			    : run_end(&run->end, &profile);
	profile_free(&profile);
	return status;
}

/* Another tool gets the device. */
static void run_told_taken(const struct run *run)
{
	if (run->injection.taken[0] != '\0' && !run->end.trials.quiet)
		cmd_warn("GPUs are not watched, CUDA_INJECTION64_PATH is set",
			 run->injection.taken);
}

/* Where the program's own loader can't be seen: refuses to start it, or says so where one of
 * libdsa's may come, or the training counts alone. */
static int run_can_be_seen(struct run *run, struct error *err)
{
	const struct startup *startup = &run->measure.startup;
	char *const *command = run->job_count > 0 ? run->jobs[0] : startup->command;

	if ((startup->choice != PRELOAD_AUTO && startup->choice != PRELOAD_TORCH) ||
	    !preload_is_hidden(command, &run->hidden))
		return 0;
	if (startup->choice == PRELOAD_TORCH && !run->end.observed)
		return error_set(err, ENOTSUP, "%s; %s", run->hidden.why,
				 run->hidden.fix);
	if (!run->end.trials.quiet)
		fprintf(stderr, "dsa: only libdsa's loader can be measured: %s; %s\n",
			run->hidden.why, run->hidden.fix);
	return 0;
}

/* What can be known before the program starts. */
static int run_can_start(struct run *run, struct error *err)
{
	const char *socket = getenv("DSA_SHARE");

	if (socket != NULL && *socket != '\0')
		return error_set(err, ENOTSUP,
				 "DSA_SHARE is set: a program that takes its batches "
				 "from a loader outside of the run can't be measured: "
				 "unset it; --jobs N --share measures jobs with one "
				 "loader for all");
	if (run_can_be_seen(run, err) < 0)
		return -err->code;
	return settings_check_cores(&run->settings, err);
}

static int run_main(const struct command *self, int argc, char **argv)
{
	struct run run = {
		.measure = {.budget_s = 60,
			    .precision = .01,
			    .most_gets = TRACE_ONE_EPOCH,
			    .timeout_s = 60,
			    .grace_s = 10},
		.end = {.output = "dsa-out",
			.trials = {.budget_s = 20, .precision = .01}},
	};
	struct error err = {0};
	char *loader, *asked, *repeat;
	bool there;
	int status;

	argument_read(self, argc, argv, &run);
	if (run_end_check(&run.end, &err) < 0)
		return cmd_refuse(&err);
	if (run_can_start(&run, &err) < 0)
		return cmd_fail(&err);
	if (run.end.prices != NULL &&
	    price_list_read(run.end.prices, &run.end.list, &err) < 0)
		return cmd_fail(&err);
	if (injection_path_find(&run.injection, run.gpu, &err) < 0)
		return cmd_fail(&err);
	run_told_taken(&run);
	there = access(run.end.output, F_OK) == 0;
	if (result_folder(run.end.output, &err) < 0 ||
	    result_replaces(run.end.output, &err) < 0 ||
	    (run.end.timeline != NULL && file_check(run.end.timeline, &err) < 0)) {
		if (!there)
			rmdir(run.end.output);
		return cmd_fail(&err);
	}
	loader = settings_loader(&run.settings, getenv("DSA_LOADER"));
	asked = settings_loader(&run.settings, NULL);
	repeat = shell_words(argv[0], argv + 1);
	run.measure.startup.loader = loader;
	run.measure.startup.asked = asked;
	run.measure.repeat = repeat;
	if (loader != NULL && asked != NULL && repeat != NULL) {
		status = measure_and_conclude(&run);
	} else {
		error_sys(&err, ENOMEM, "starting the run");
		status = cmd_fail(&err);
	}
	if (!there)
		rmdir(run.end.output); /* stays if anything lies in it */
	free(loader);
	free(asked);
	free(repeat);
	for (unsigned i = 0; i < run.job_count; i++)
		free(run.jobs[i]);
	return status;
}

const struct command command_run = {
	.name = "run",
	.summary = "measure where a training program waits for data",
	.arguments = arguments,
	.check = run_check,
	.doc = "Run a training program and measure where it waits for data.",
	.run = run_main,
};
