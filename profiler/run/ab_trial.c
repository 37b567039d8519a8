/* ab_trial.c - launches the sides of a trial in turn. */
#include "profiler/run/ab_trial.h"
#include "loader/base/clock.h"

#include <math.h>

struct trial {
	const struct ab_trial_config *config;
	unsigned counted, timed; /* launches of each kind that there are */
	unsigned done;           /* of both */
	uint64_t began, timing;  /* the first launch, and the first timed one */
};

unsigned ab_trial_side(unsigned index)
{
	return (index + 1) / 2 % 2;
}

/* Estimates from the timed launches so far: the counted ones are over by then. */
static double ab_trial_seconds_left(const struct trial *trial)
{
	unsigned timed = trial->done - trial->counted;

	if (trial->done <= trial->counted)
		return NAN;
	return clock_since(trial->timing) / timed * (trial->timed - timed);
}

static void ab_trial_report(const struct trial *trial, enum ab_trial_what what,
			    unsigned side)
{
	const struct ab_trial_progress now = {
		.what = what,
		.side = side,
		.done = trial->done,
		.of = trial->counted + trial->timed,
		.elapsed_s = clock_since(trial->began),
		.left_s = ab_trial_seconds_left(trial),
	};

	if (trial->config->progress != NULL)
		trial->config->progress(trial->config->context, &now);
}

/* One launch, and what the caller makes of it. */
static int ab_trial_attempt(struct trial *trial, enum ab_trial_what what, unsigned side,
			    const struct short_run *repetition, struct error *err)
{
	const struct ab_trial_config *config = trial->config;
	struct profile profile;
	int result;

	ab_trial_report(trial, what, side);
	profile_init(&profile);
	result = what == AB_TRIAL_COUNTED ? short_run_count(repetition, &profile, err)
					  : short_run_time(repetition, &profile, err);
	if (result == 0)
		result = config->take(config->context, what, side, &profile, err);
	profile_free(&profile);
	trial->done += result >= 0;
	return result;
}

static int ab_trial_count(struct trial *trial, unsigned side, struct error *err)
{
	const struct short_run repetition = {
		.config = trial->config->sides[side],
		.samples = trial->config->samples,
	};

	return ab_trial_attempt(trial, AB_TRIAL_COUNTED, side, &repetition, err);
}

/* Both of a pair have their windows in the same order. */
static int ab_trial_repeat(struct trial *trial, unsigned index, struct error *err)
{
	const struct ab_trial_config *config = trial->config;
	unsigned side = config->side_count > 1 ? ab_trial_side(index) : 0;
	struct measure_config own = *config->sides[side];
	const struct short_run repetition = {
		.config = &own, .seconds = config->seconds, .tries = AB_TRIAL_TRIES};

	own.seed += index / config->side_count;
	return ab_trial_attempt(trial, AB_TRIAL_TIMED, side, &repetition, err);
}

int ab_trial_run(const struct ab_trial_config *config, struct error *err)
{
	struct trial trial = {
		.config = config,
		.counted = config->samples != UNKNOWN ? config->side_count : 0,
		.timed = config->pairs * config->side_count,
		.began = clock_now(),
	};
	int result = 0;

	for (unsigned i = 0; result == 0 && i < trial.counted; i++)
		result = ab_trial_count(&trial, i, err);
	trial.timing = clock_now();
	for (unsigned i = 0; result == 0 && i < trial.timed; i++)
		result = ab_trial_repeat(&trial, i, err);
	return result < 0 ? result : 0;
}
