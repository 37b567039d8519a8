/* schedule_single_test.c - a single block, as a short run has one. */
#include "profiler/analysis/statistics.h"
#include "tests/lib/performer.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const struct schedule_config single = {
	.budget_s = INFINITY,
	.block_s = 4,
	.only = -1,
	.memory_bytes = 1 << 30,
	.cache_bytes = 1 << 30,
};

/* The three letters of the windows of the block, in order. */
static void order_of(uint64_t seed, char order[4])
{
	struct schedule_config config = single;
	struct performer performer;

	config.seed = seed;
	performer = performer_new(&config);
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	assert_int_equal(performer.trace->window_count, 4);
	assert_int_equal(performer.trace->windows[0].flags, TRACE_WARMUP);
	for (unsigned i = 0; i < 3; i++)
		order[i] = "rcs"[performer.trace->windows[i + 1].kind];
	order[3] = '\0';
	performer_free(&performer);
}

TEST(a_single_block_turns_with_the_seed)
{
	char order[4], mirror[4];
	unsigned place[3][3] = {{0}};

	for (unsigned seed = 0; seed < 6; seed += 2) {
		order_of(seed, order);
		order_of(seed + 1, mirror);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(order[i], mirror[2 - i]);
			place[strchr("rcs", order[i]) - "rcs"][i]++;
			place[strchr("rcs", mirror[i]) - "rcs"][i]++;
		}
	}
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(place[i / 3][i % 3], 2);
}

TEST(half_of_a_single_block_is_the_real_window)
{
	struct performer performer = performer_new(&single);
	double seconds[TRACE_KINDS] = {0};
	const struct shares *shares;

	performer.trace->loader.dataset_samples = 10000;
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	for (unsigned i = 1; i < performer.trace->window_count; i++) {
		const struct trace_window *window = &performer.trace->windows[i];

		assert_int_equal(window->block, 0);
		assert_int_equal(window->min_steps, 8);
		assert_int_equal(window->limit_ns, 0);
		seconds[window->kind] = (double)window->length_ns * 1e-9;
		if (window->kind == TRACE_CACHED) /* what 1 s of 15 ms steps takes */
			assert_true(window->stage >= 67 * PERFORMER_BATCH);
		if (window->kind == TRACE_SYNTHETIC) /* of 10 ms, and some more */
			assert_in_range(window->stage, 102 * PERFORMER_BATCH,
					150 * PERFORMER_BATCH);
	}
	assert_true(fabs(seconds[TRACE_REAL] - 2) < 1e-6);
	assert_true(fabs(seconds[TRACE_CACHED] - 1) < 1e-6);
	assert_true(fabs(seconds[TRACE_SYNTHETIC] - 1) < 1e-6);
	shares = schedule_shares(performer.schedule);
	assert_int_equal(shares->blocks, 1);
	assert_true(fabs(shares->rates[STAGE_REAL].value - 32 / .020) < 100);
	assert_true(isnan(shares->rates[STAGE_REAL].low) &&
		    isnan(shares->stalls[STAGE_COMPUTE].high));
	performer_free(&performer);
}

TEST(a_slow_step_lengthens_a_single_block)
{
	struct performer performer = performer_new(&single);

	for (int kind = 0; kind < TRACE_KINDS; kind++)
		performer.step_ms[kind] *= 100;
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	for (unsigned i = 1; i < performer.trace->window_count; i++)
		assert_int_equal(performer.trace->windows[i].steps, 8);
	performer_free(&performer);
}

TEST(a_single_block_fills_the_cache_first)
{
	struct performer performer = performer_new(&single);
	struct trace *trace = performer.trace;

	performer.filled = .35;
	strcpy(trace->loader.cache, "minio");
	trace->loader.cache_capacity = 35000000;
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	assert_int_equal(trace->window_count, 5);
	assert_int_equal(trace->windows[0].kind, TRACE_FILL);
	assert_int_equal(trace->windows[0].limit_ns, 4000000000u);
	assert_int_equal(trace->windows[1].flags, TRACE_WARMUP);
	performer_free(&performer);
}

TEST(a_void_window_of_a_single_block_is_tried_three_times)
{
	struct performer performer = performer_new(&single);

	performer.void_every = 1;
	performer.void_kind = TRACE_REAL;
	assert_int_equal(performer_run(&performer), SCHEDULE_VOID);
	assert_int_equal(performer_count(performer.trace, TRACE_REAL), 1 + 3);
	assert_int_equal(performer_count(performer.trace, TRACE_CACHED), 1);
	assert_non_null(strstr(schedule_why(performer.schedule), "void"));
	performer_free(&performer);

	performer = performer_new(&single);
	performer.void_every = 2; /* the warm-up is the first */
	performer.void_kind = TRACE_REAL;
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	assert_int_equal(performer_count(performer.trace, TRACE_REAL), 1 + 2);
	assert_int_equal(schedule_shares(performer.schedule)->blocks, 1);
	performer_free(&performer);
}
