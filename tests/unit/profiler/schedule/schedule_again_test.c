/* schedule_again_test.c - windows that others disturbed. */
#include "tests/lib/performer.h"
#include "tests/lib/test.h"

#include <math.h>

/* Windows of a block and kind; and those of them that nobody disturbed. */
static unsigned count_of(const struct trace *trace, unsigned block, unsigned kind,
			 bool quiet)
{
	unsigned count = 0;

	for (unsigned i = 0; i < trace->window_now; i++)
		count += trace->windows[i].block == block &&
			 trace->windows[i].kind == kind &&
			 (!quiet || !performer_is_disturbed(trace, i));
	return count;
}

/* Windows of fetch with so many reads in flight; 0: as many as the loader has. */
static unsigned count_of_depth(const struct trace *trace, unsigned depth)
{
	unsigned count = 0;

	for (unsigned i = 0; i < trace->window_count; i++)
		count += trace->windows[i].kind == TRACE_FETCH &&
			 trace->windows[i].depth == depth;
	return count;
}

TEST(disturbed_windows_are_measured_again)
{
	struct performer performer = performer_new(&performer_usual);
	const struct shares *shares = schedule_shares(performer.schedule);

	performer.disturbed_until = 4;
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	assert_true(
		performer_is_disturbed(performer.trace, 1)); /* of the first block */
	assert_true(shares->blocks >= 8 && shares_half(shares) <= .01);
	for (unsigned block = 0; block < shares->blocks; block++)
		for (unsigned kind = 0; kind < 3; kind++)
			assert_int_equal(count_of(performer.trace, block, kind, true),
					 1);
	performer_free(&performer);
}

TEST(points_of_curves_are_measured_again)
{
	struct schedule_config config = performer_usual;
	struct performer performer, quiet;

	config.budget_s = 240; /* a fifth of it is more than one of each takes */
	performer = performer_new(&config);
	quiet = performer_new(&config);
	performer.disturbed_until = 19;
	performer_run(&performer);
	performer_run(&quiet);
	/* Of the loader's own depth there are more, of any other one. */
	assert_int_equal(count_of_depth(performer.trace, 1),
			 count_of_depth(quiet.trace, 1) + 1);
	assert_int_equal(count_of_depth(performer.trace, 0), 3);
	performer_free(&performer);
	performer_free(&quiet);
}

TEST(repeats_stay_within_the_budget)
{
	struct schedule_config config = performer_usual;

	for (unsigned every = 2; every <= 3; every++)
		for (config.budget_s = 4; config.budget_s <= 32; config.budget_s *= 2) {
			struct performer performer = performer_new(&config);

			performer.noise = .1;
			performer.quiet_every = every; /* a half, or a third */
			assert_int_equal(performer_run(&performer), SCHEDULE_OUT);
			assert_true(performer_elapsed(&performer) <=
				    config.budget_s + .5);
			assert_true(schedule_shares(performer.schedule)->blocks > 0);
			performer_free(&performer);
		}
}

TEST(where_most_are_disturbed_all_count_and_widen_the_shares)
{
	struct performer performer = performer_new(&performer_usual);
	const struct shares *shares = schedule_shares(performer.schedule);

	performer.disturbed_until = INFINITY;
	assert_int_equal(performer_run(&performer), SCHEDULE_OUT);
	assert_true(performer_elapsed(&performer) <= 60.5);
	assert_true(shares->blocks > 10);
	for (unsigned block = 0; block < shares->blocks; block++)
		for (unsigned kind = 0; kind < 3; kind++)
			assert_int_equal(count_of(performer.trace, block, kind, false),
					 1);
	assert_true(fabs(shares->disturbance - .5) < 1e-9);
	assert_true(shares_half(shares) > .5);
	/* Rates are those under the load. */
	assert_true(interval_half(shares->rates[STAGE_REAL]) <
		    .05 * shares->rates[STAGE_REAL].value);
	performer_free(&performer);
}

TEST(a_single_block_is_as_it_is)
{
	static const struct schedule_config single = {
		.budget_s = INFINITY,
		.block_s = 4,
		.only = -1,
		.memory_bytes = 1 << 30,
		.cache_bytes = 1 << 30,
	};
	struct performer performer = performer_new(&single);

	performer.quiet_every = 3; /* two of four windows */
	assert_int_equal(performer_run(&performer), SCHEDULE_DONE);
	assert_int_equal(performer.trace->window_count, 4);
	assert_int_equal(schedule_shares(performer.schedule)->blocks, 1);
	performer_free(&performer);
}
