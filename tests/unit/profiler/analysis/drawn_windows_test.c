/* drawn_windows_test.c - runs whose cache hits are drawn end after any number of blocks. */
#include "loader/base/math/steady.h"
#include "loader/base/random.h"
#include "profiler/analysis/rate.h"
#include "profiler/analysis/shares.h"
#include "profiler/session/disturbance.h"
#include "profiler/session/epoch_parts.h"
#include "tests/lib/close_to.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"
#include "tests/lib/trials.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, STEPS = 50, TRIALS = TRIALS_OF(100) };

#define COMPUTE_MS 10.
#define MISSES_MS  10. /* more, of a step whose samples all come from storage */
#define NOISE      .02

/* lru, of .8 of the data set: hits from .79 down to none. */
static double hits_over_the_epoch(double hit[EPOCH_PARTS])
{
	double mean = 0;

	assert_int_equal(steady_over(CACHE_LRU, .8, 100000000, hit, EPOCH_PARTS), 0);
	for (int i = 0; i < EPOCH_PARTS; i++)
		mean += hit[i] / EPOCH_PARTS;
	return mean;
}

/* Uniform, with a standard deviation of NOISE. */
static double noisy(struct random *random)
{
	return 1 + NOISE * sqrt(12) * (random_unit(random) - .5);
}

static void add_block(struct trace *trace, int block, double hit, struct random *random)
{
	static const enum trace_kind kinds[] = {TRACE_SYNTHETIC, TRACE_CACHED,
						TRACE_REAL};
	unsigned hits = (unsigned)lround(hit * STEPS * BATCH);

	for (int i = 0; i < 3; i++) {
		bool real = kinds[i] == TRACE_REAL;
		double slower_ms = real ? MISSES_MS * (1 - hit) : 0;
		const struct session_window window = {
			.kind = kinds[i],
			.block = block,
			.flags = real ? TRACE_DRAW : 0,
			.hit = real ? hit : 0,
			.steps = STEPS,
			.samples = BATCH,
			.step_ms = (COMPUTE_MS + slower_ms) * noisy(random),
			.prepared = i > 0 ? STEPS * BATCH : 0,
			.fetched = real ? STEPS * BATCH - hits : 0,
			.hits = real ? hits : 0,
		};

		session_add(trace, &window);
	}
}

static struct trace *drawn_run(uint64_t seed, int blocks)
{
	struct random random = {seed};
	double hit[EPOCH_PARTS];
	struct trace *trace = session_new();

	assert_non_null(trace);
	hits_over_the_epoch(hit);
	trace->seed = seed;
	strcpy(trace->loader.cache, "lru");
	trace->loader.cache_capacity = 80000000;
	for (int block = 0; block < blocks; block++)
		add_block(trace, block, hit[epoch_part(seed, (unsigned)block)],
			  &random);
	return trace;
}

static void shares_of(const struct trace *trace, struct shares *shares)
{
	size_t count;
	struct window *windows = disturbance_windows(trace, &count);

	assert_non_null(windows);
	assert_int_equal(shares_measure(windows, count, shares), 0);
	free(windows);
}

struct score {
	unsigned covered;
	double squares, half; /* of the errors, and the mean; relative */
};

static void score_add(struct score *score, struct interval told, double truth)
{
	double error = told.value / truth - 1;

	score->covered += told.low <= truth && truth <= told.high;
	score->squares += error * error / TRIALS;
	score->half += interval_half(told) / truth / TRIALS;
}

/* Errors have at most this root mean square, and intervals thrice that as half. */
static void score_holds(const struct score *score, double error)
{
	assert_true(sqrt(score->squares) < error);
	assert_true(score->half < 3 * error);
	assert_true(score->covered >= TRIALS * 9 / 10);
}

/* A window scatters by 2 %, and 12 of them that all stood for one part by .6 %. */
TEST(parts_of_the_epoch_weigh_alike_after_any_number_of_blocks)
{
	static const int blocks[] = {12, 13, 16};
	double hit[EPOCH_PARTS], mean = hits_over_the_epoch(hit);
	double step_ms = COMPUTE_MS + MISSES_MS * (1 - mean);

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct score rates = {0}, fetch = {0};

		for (uint64_t seed = 1; seed <= TRIALS; seed++) {
			struct trace *trace = drawn_run(seed, blocks[i]);
			struct measure_rate rate;
			struct shares shares;

			shares_of(trace, &shares);
			assert_int_equal(shares.blocks, blocks[i]);
			score_add(&fetch, shares.stalls[STAGE_FETCH],
				  1 - COMPUTE_MS / step_ms);
			assert_int_equal(rate_measure(trace, &rate), 0);
			score_add(&rates, rate.per_s, BATCH / step_ms * 1e3);
			close_to(rate.hit_ratio, mean, 1e-3);
			session_free(trace);
		}
		score_holds(&rates, .0075);
		score_holds(&fetch, .025);
	}
}

/* Nobody knows what the missing ones would have said: that parts differ is noise. */
TEST(a_missing_part_is_in_the_interval)
{
	double hit[EPOCH_PARTS], mean = hits_over_the_epoch(hit);
	double truth = BATCH / (COMPUTE_MS + MISSES_MS * (1 - mean)) * 1e3;
	struct score rates = {0};

	for (uint64_t seed = 1; seed <= TRIALS; seed++) {
		struct trace *trace = drawn_run(seed, 7);
		struct measure_rate rate;

		assert_int_equal(rate_measure(trace, &rate), 0);
		score_add(&rates, rate.per_s, truth);
		session_free(trace);
	}
	assert_int_equal(rates.covered, TRIALS);
}

TEST(each_part_comes_once_in_as_many_blocks)
{
	struct epoch_parts parts = {0};

	for (unsigned block = 0; block < 3 * EPOCH_PARTS; block++) {
		assert_int_equal(epoch_parts_whole(&parts), block >= EPOCH_PARTS);
		parts.count[epoch_part(7, block)]++;
	}
	for (unsigned i = 0; i < EPOCH_PARTS; i++) {
		assert_int_equal(parts.count[i], 3);
		assert_true(epoch_parts_weight(&parts, i) == 1);
	}
	parts.count[2] = 6;
	close_to(epoch_parts_weight(&parts, 2), 27 / 8. / 6, 1e-12);
	close_to(epoch_parts_weight(&parts, 0), 27 / 8. / 3, 1e-12);
}
