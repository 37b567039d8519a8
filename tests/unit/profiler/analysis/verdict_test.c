/* verdict_test.c - which stage limits, and which one would then. */
#include "profiler/analysis/verdict.h"
#include "tests/lib/close_to.h"
#include "tests/lib/test.h"

#include <stddef.h>

/* Samples/s of the windows, and of prep and fetch alone; 0: not measured. */
struct case_of {
	double synthetic, cached, real, prep, fetch;
	double half; /* of each share */
	int limit, next;
	const char *why;
	double copied; /* of windows, 0: without a device */
};

static double known(double rate)
{
	return rate > 0 ? rate : NAN;
}

static void fill(struct profile *profile, const struct case_of *of)
{
	const double times[STAGES] = {[STAGE_COMPUTE] = 1 / of->synthetic,
				      [STAGE_COPY] = 1 / known(of->copied),
				      [STAGE_PREP] = 1 / of->cached,
				      [STAGE_FETCH] = 1 / of->real};
	double shares[STAGES];

	profile_init(profile);
	stage_split(times, shares);
	for (int i = 0; i < STAGES; i++)
		profile->stalls[i] = (struct interval){shares[i], shares[i] - of->half,
						       shares[i] + of->half};
	profile->rates[TRACE_SYNTHETIC].value = of->synthetic;
	profile->rates[TRACE_COPIED].value = known(of->copied);
	profile->rates[TRACE_CACHED].value = of->cached;
	profile->rates[TRACE_REAL].value = of->real;
	profile->rates[TRACE_PREP].value = known(of->prep);
	profile->rates[TRACE_FETCH].value = known(of->fetch);
	profile->workers = 2;
}

TEST(the_slowest_stage_limits)
{
	static const struct case_of cases[] = {
		/* Storage is slower than prep, though its stall is the smaller one. */
		{8000, 1500, 1300, 1600, 1320, .01, STAGE_FETCH, STAGE_PREP,
		 "1300 samples/s now, 1500 if all data were in memory; fetch alone "
		 "sustains 1320",
		 0},
		/* Fetch alone does six times as much: it is not what limits. */
		{9000, 1567, 1364, 1700, 9477, .05, STAGE_PREP, STAGE_FETCH,
		 "1567 samples/s from memory with 2 workers, 9000 if batches were "
		 "ready",
		 0},
		/* Nothing is known of fetch alone, and its stall is seen. */
		{4000, 2700, 1400, 0, 0, .01, STAGE_FETCH, STAGE_PREP,
		 "1400 samples/s now, 2700 if all data were in memory", 0},
		/* One stall alone. */
		{4000, 3990, 1400, 9000, 1450, .01, STAGE_FETCH, STAGE_COMPUTE,
		 "1400 samples/s now, 3990 if all data were in memory; fetch alone "
		 "sustains 1450",
		 0},
		/* Copies to a device. */
		{.synthetic = 4000,
		 .copied = 1500,
		 .cached = 1490,
		 .real = 1400,
		 .prep = 9000,
		 .fetch = 1450,
		 .half = .01,
		 .limit = STAGE_FETCH,
		 .next = STAGE_COPY,
		 .why = "1400 samples/s now, 1490 if all data were in memory; fetch "
			"alone sustains 1450"},
		{.synthetic = 4000,
		 .copied = 1410,
		 .cached = 1405,
		 .real = 1400,
		 .prep = 9000,
		 .fetch = 9000,
		 .half = .01,
		 .limit = STAGE_COPY,
		 .next = STAGE_COMPUTE,
		 .why = "1410 samples/s if batches were ready in memory, 4000 if they "
			"were on the device"},
		/* None beyond its interval. */
		{4000, 3900, 3800, 9000, 9000, .05, STAGE_COMPUTE, -1,
		 "3800 samples/s now, 4000 if batches were ready", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile profile;

		fill(&profile, &cases[i]);
		assert_int_equal(verdict_limit(&profile), 0);
		assert_int_equal(profile.limit.id, cases[i].limit);
		assert_int_equal(profile.limit_next.id, cases[i].next);
		assert_string_equal(profile.limit_why, cases[i].why);
		profile_free(&profile);
	}
}

/* Storage sustains less than both, but most of a sample's time is prep's. */
TEST(in_series_the_largest_stall_limits)
{
	static const struct case_of of = {
		.synthetic = 4000, .cached = 1000, .real = 800, .half = .01};
	struct profile profile;

	fill(&profile, &of);
	profile.loader_kind.id = LOADER_TORCH;
	assert_int_equal(verdict_limit(&profile), 0);
	assert_int_equal(profile.limit.id, STAGE_PREP);
	assert_int_equal(profile.limit_next.id, STAGE_FETCH);
	assert_string_equal(profile.limit_why, "1000 samples/s from memory with 2 "
					       "workers, 4000 if batches were ready");
	profile_free(&profile);
}

TEST(without_real_windows_nothing_is_said)
{
	struct profile profile;

	profile_init(&profile);
	assert_int_equal(verdict_limit(&profile), 0);
	assert_int_equal(profile.limit.id, -1);
	assert_null(profile.limit_why);
	profile_free(&profile);
}

/* An interval of .02, of which .01 stays, is to be .012: (4 - 1) / (1.44 - 1) times. */
TEST(more_blocks_narrow_what_is_above_the_floor)
{
	close_to(verdict_budget(.02, .01, .012, 10, 44, 5), 44 * 3 / .44 + 5, 1e-9);
}
