/* verdict.c - chooses what limits, and the budget that a precision needs. */
#include "profiler/analysis/verdict.h"
#include "profiler/analysis/shares.h"

#include <stdio.h>

/* Stalls below this share limit nothing that anyone would act on. */
#define NOTICED .01

double verdict_budget(double half, double floor, double precision, unsigned blocks,
		      double blocks_s, double other_s)
{
	double ratio, times;

	if (blocks < 2 || !(precision > floor) || !isfinite(half))
		return NAN;
	ratio = (half - floor) / (precision - floor);
	times = fmax(ratio * ratio, (double)SHARES_BLOCKS_LEAST / blocks);
	return blocks_s * times + other_s;
}

/* True when the stall is there, beyond its interval. */
static bool verdict_stalls(struct interval share)
{
	double half = interval_half(share);

	return share.value > NOTICED && (isnan(half) || share.value > half);
}

static int verdict_write_fetch(struct profile *profile)
{
	char sustained[64] = "", emulated[64] = "";

	if (!isnan(profile->rates[TRACE_FETCH].value))
		snprintf(sustained, sizeof(sustained),
			 "; fetch alone sustains %.0f samples/s",
			 profile->rates[TRACE_FETCH].value);
	if (!isnan(profile->storage_bandwidth) || !isnan(profile->storage_latency_s))
		snprintf(emulated, sizeof(emulated), " (storage is emulated)");
	return profile_text(&profile->limit_why,
			    "%.0f samples/s with all samples in memory, %.0f as stored"
			    "%s%s",
			    profile->rates[TRACE_CACHED].value,
			    profile->rates[TRACE_REAL].value, sustained, emulated);
}

static int verdict_write_prep(struct profile *profile)
{
	return profile_text(&profile->limit_why,
			    "%.0f samples/s from prepared batches, %.0f when %d "
			    "workers prepare them",
			    profile->rates[TRACE_SYNTHETIC].value,
			    profile->rates[TRACE_CACHED].value,
			    profile->workers == UNKNOWN ? 0 : (int)profile->workers);
}

static int verdict_write_compute(struct profile *profile)
{
	return profile_text(
		&profile->limit_why,
		"%.0f samples/s with data as stored, %.0f with batches ready",
		profile->rates[TRACE_REAL].value,
		profile->rates[TRACE_SYNTHETIC].value);
}

static int verdict_write(struct profile *profile, int stage)
{
	switch (stage) {
	case STAGE_COMPUTE:
		return verdict_write_compute(profile);
	case STAGE_PREP:
		return verdict_write_prep(profile);
	case STAGE_FETCH:
		return verdict_write_fetch(profile);
	default:
		return profile_text(&profile->limit_why, "%s",
				    stage_table[stage].about);
	}
}

int verdict_limit(struct profile *profile)
{
	int stage = STAGES - 1;

	if (isnan(profile->rates[TRACE_REAL].value))
		return 0;
	while (stage > STAGE_COMPUTE && !verdict_stalls(profile->stalls[stage]))
		stage--;
	profile->limit.id = stage;
	return verdict_write(profile, stage);
}
