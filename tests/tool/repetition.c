/*
 * repetition.c - short_run_time(), short_run_count() and ab_trial_run() as a command.
 *
 *	repetition time SECONDS ...	the result as run.json has it
 *	repetition count SAMPLES ...	the same; 0: as many as usual
 *	repetition trial PAIRS ...	sides against themselves: "timed 0 1520.3" a launch,
 *					and "of 8: 3 done" as news
 *	... TIMEOUT_S FOLDER CMD...
 *
 * Exit status 1: "ECHILD: what went wrong", by the name of the code.
 */
#include "loader/base/error.h"
#include "profiler/run/ab_trial.h"
#include "reports/json/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_result(int result, const struct profile *profile, struct error *err)
{
	return result < 0 ? result : json_result_write(profile, stdout, err);
}

static int once(const struct measure_config *config, bool timed, double amount,
		struct error *err)
{
	const struct short_run repetition = {
		.config = config,
		.seconds = amount,
		.samples = (uint64_t)amount,
	};
	struct profile profile;
	int result;

	profile_init(&profile);
	result = timed ? short_run_time(&repetition, &profile, err)
		       : short_run_count(&repetition, &profile, err);
	result = write_result(result, &profile, err);
	profile_free(&profile);
	return result;
}

static int take(void *context, enum ab_trial_what what, unsigned side,
		const struct profile *profile, struct error *err)
{
	(void)context;
	(void)err;
	if (what == AB_TRIAL_COUNTED)
		printf("counted %u %llu\n", side,
		       (unsigned long long)profile->counted.samples);
	else
		printf("timed %u %.6g %s\n", side, profile->rates[TRACE_REAL].value,
		       profile->window_count > 1
			       ? profile_kinds[profile->windows[1].kind.id]
			       : "none");
	fflush(stdout);
	return 0;
}

static void tell(void *context, const struct ab_trial_progress *news)
{
	(void)context;
	printf("of %u: %u done, %s\n", news->of, news->done,
	       isnan(news->left_s) ? "unknown" : "known");
	fflush(stdout);
}

static int trial(const struct measure_config *config, double pairs, struct error *err)
{
	const struct ab_trial_config trial = {
		.sides = {config, config},
		.side_count = 2,
		.pairs = (unsigned)pairs,
		.seconds = .3,
		.samples = 50,
		.take = take,
		.progress = tell,
	};

	return ab_trial_run(&trial, err);
}

int main(int argc, char **argv)
{
	struct measure_config config = {.grace_s = 2, .startup.output_aside = true};
	struct error err = {0};
	double amount;
	int result;

	if (argc < 6)
		return 2;
	amount = strtod(argv[2], NULL);
	config.timeout_s = strtod(argv[3], NULL);
	config.folder = argv[4];
	config.startup.command = argv + 5;
	if (strcmp(argv[1], "trial") == 0)
		result = trial(&config, amount, &err);
	else
		result = once(&config, strcmp(argv[1], "time") == 0, amount, &err);
	if (result < 0)
		fprintf(stderr, "%s: %s\n", strerrorname_np(-result), err.message);
	return result < 0;
}
