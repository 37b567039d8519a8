/* verdict.c - chooses what limits, and the budget that a precision needs. */
#include "profiler/analysis/verdict.h"
#include "profiler/analysis/shares.h"

#include <stdio.h>

double verdict_budget(double half, double floor, double precision, unsigned blocks,
		      double blocks_s, double other_s)
{
	double times;

	if (blocks < 2 || !(precision > floor) || !isfinite(half))
		return NAN;
	times = (half * half - floor * floor) / (precision * precision - floor * floor);
	times = fmax(times, (double)SHARES_BLOCKS_LEAST / blocks);
	return blocks_s * times + other_s;
}

/* True when the stall is there, beyond its interval. */
static bool verdict_stalls(struct interval share)
{
	double half = interval_half(share);

	return share.value > STAGE_NOTICED && (isnan(half) || share.value > half);
}

/* Samples/s if no byte had to be waited for. */
static double verdict_from_memory(const struct profile *profile)
{
	double cached = profile->rates[TRACE_CACHED].value;

	return isnan(cached) ? profile->rates[TRACE_REAL].value /
				       (1 - profile->stalls[STAGE_FETCH].value)
			     : cached;
}

/* Of a loader whose workers read a sample, then prepare it: a sample takes the sum of what
 * its stages take. */
static void verdict_sustained_in_series(const struct profile *profile,
					double per_s[STAGES])
{
	for (int i = 0; i < STAGES; i++)
		per_s[i] = profile->rates[TRACE_REAL].value / profile->stalls[i].value;
}

/* What each stage sustains by itself, samples/s; NAN: not known. */
static void verdict_sustained(const struct profile *profile, double per_s[STAGES])
{
	const struct interval *rates = profile->rates;

	if (profile_loader(profile) != LOADER_DSA) {
		verdict_sustained_in_series(profile, per_s);
		return;
	}
	for (int i = 0; i < STAGES; i++)
		per_s[i] = rates[stage_table[i].kind].value;
	per_s[STAGE_PREP] = verdict_from_memory(profile);
	if (!verdict_stalls(profile->stalls[STAGE_PREP]))
		per_s[STAGE_PREP] = rates[TRACE_PREP].value;
	if (!isnan(rates[TRACE_FETCH].value) ||
	    !verdict_stalls(profile->stalls[STAGE_FETCH]))
		per_s[STAGE_FETCH] = rates[TRACE_FETCH].value;
}

/* The stage that sustains the least of those that are `wanted`; compute: there is none. */
static enum stage verdict_least(const double per_s[STAGES], const bool wanted[STAGES])
{
	enum stage least = STAGE_COMPUTE;

	for (enum stage i = STAGE_COMPUTE + 1; i < STAGES; i++)
		if (wanted[i] && !isnan(per_s[i]) &&
		    (least == STAGE_COMPUTE || per_s[i] < per_s[least]))
			least = i;
	return least;
}

/* ---- in words ---- */

static int verdict_write_fetch(struct profile *profile)
{
	bool emulated = !isnan(profile->storage_bandwidth) ||
			!isnan(profile->storage_latency_s);
	char sustained[64] = "";

	if (!isnan(profile->rates[TRACE_FETCH].value))
		snprintf(sustained, sizeof(sustained), "; fetch alone sustains %.0f",
			 profile->rates[TRACE_FETCH].value);
	return profile_text(&profile->limit_why,
			    "%.0f samples/s now, %.0f if all data were in memory%s%s",
			    profile->rates[TRACE_REAL].value,
			    verdict_from_memory(profile), sustained,
			    emulated ? " (storage is emulated)" : "");
}

static int verdict_write_prep(struct profile *profile)
{
	char workers[48] = "";

	if (profile->workers != UNKNOWN)
		snprintf(workers, sizeof(workers), " with %llu worker%s",
			 (unsigned long long)profile->workers,
			 profile->workers == 1 ? "" : "s");
	return profile_text(&profile->limit_why,
			    "%.0f samples/s from memory%s, %.0f if batches were ready",
			    verdict_from_memory(profile), workers,
			    profile->rates[TRACE_SYNTHETIC].value);
}

static int verdict_write_copy(struct profile *profile)
{
	return profile_text(&profile->limit_why,
			    "%.0f samples/s if batches were ready in memory, %.0f if "
			    "they were on the device",
			    profile->rates[TRACE_COPIED].value,
			    profile->rates[TRACE_SYNTHETIC].value);
}

static int verdict_write_compute(struct profile *profile)
{
	return profile_text(&profile->limit_why,
			    "%.0f samples/s now, %.0f if batches were ready",
			    profile->rates[TRACE_REAL].value,
			    profile->rates[TRACE_SYNTHETIC].value);
}

static int verdict_write(struct profile *profile, enum stage stage)
{
	static int (*const write[STAGES])(struct profile * profile) = {
		[STAGE_COMPUTE] = verdict_write_compute,
		[STAGE_COPY] = verdict_write_copy,
		[STAGE_PREP] = verdict_write_prep,
		[STAGE_FETCH] = verdict_write_fetch,
	};

	return write[stage](profile);
}

int verdict_limit(struct profile *profile)
{
	double per_s[STAGES];
	bool wanted[STAGES];
	enum stage stage;

	if (isnan(profile->rates[TRACE_REAL].value) ||
	    isnan(profile->stalls[STAGE_FETCH].value))
		return 0;
	verdict_sustained(profile, per_s);
	for (int i = 0; i < STAGES; i++)
		wanted[i] = verdict_stalls(profile->stalls[i]);
	stage = verdict_least(per_s, wanted);
	profile->limit.id = (int)stage;
	if (stage != STAGE_COMPUTE) {
		wanted[stage] = false;
		profile->limit_next.id = (int)verdict_least(per_s, wanted);
	}
	return verdict_write(profile, stage);
}
