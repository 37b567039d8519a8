/*
 * driver_together_test.c - programs that take several batches before they compute, and
 * loaders that make several at once.
 */
#include "loader/base/clock.h"
#include "tests/lib/driven.h"
#include "tests/lib/made_up.h"
#include "tests/lib/test.h"

#include <stdint.h>

/* Each with its own wait; the last one computes for all of them. */
TEST_WITH(batches_that_are_taken_together_are_steps_of_their_own, made_up_begin,
	  driven_teardown)
{
	enum { TOGETHER = 8 };
	struct trace_window *window = driven_ask(TRACE_REAL);
	const struct trace_step *steps = driven.trace->steps;

	window->settle = 0;
	window->length_ns = 0;
	window->min_steps = 2 * TOGETHER;
	while (window->state < TRACE_DONE) {
		assert_true(made_up_step());
		for (int more = 1; more < TOGETHER; more++)
			driver_delivered(&made_up.driver, DRIVEN_BATCH, 0,
					 (uint64_t)more * 1000);
		clock_sleep_until(clock_now() + TRACE_PAUSE_NS / 50);
	}
	assert_int_equal(window->steps % TOGETHER, 0);
	assert_int_equal(window->samples, window->steps * DRIVEN_BATCH);
	assert_int_equal(window->step_records, window->steps);
	for (uint32_t i = 0; i < TOGETHER; i++) {
		assert_int_equal(steps[i].steps, 1);
		assert_int_equal(steps[i].samples, DRIVEN_BATCH);
		assert_int_equal(steps[i].blocked_ns, i * 1000);
		assert_int_equal(steps[i].together, TOGETHER);
		assert_int_equal(steps[i].longest_ns > 0, i + 1 == TOGETHER);
		assert_int_equal(steps[i].end_ns, steps[i + 1].request_ns);
		assert_int_equal(steps[i].end_ns - steps[i].request_ns > i * 1000,
				 i + 1 == TOGETHER);
	}
}

/* However many there are: what is computed after the second of two is no pause. */
TEST_WITH(batches_that_are_taken_together_share_records, made_up_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL);
	uint64_t now = clock_now();

	driven.trace->observe = 1;
	window->settle = 0;
	window->length_ns = UINT64_MAX;
	for (int i = 0; i < TRACE_WINDOW_STEPS; i++, now += 4 * TRACE_PAUSE_NS) {
		assert_int_equal(driver_request(&made_up.driver, now, 0), 1);
		for (int more = 0; more < 2; more++)
			driver_delivered(&made_up.driver, DRIVEN_BATCH, 0, 0);
	}
	assert_true(window->steps > TRACE_WINDOW_STEPS);
	assert_false(made_up.driver.across);
}

/* Of a loader with four workers, 6 at a time. */
TEST_WITH(windows_of_batches_taken_together_end, made_up_begin, driven_teardown)
{
	enum { TOGETHER = 6, ROUND = 4 };
	struct trace_window *window = driven_ask(TRACE_REAL);

	made_up.driver.round = ROUND;
	window->settle = 2 * ROUND;
	window->length_ns = 0;
	window->min_steps = 1;
	while (window->state < TRACE_DONE) {
		assert_in_range(window->steps, 0, 100);
		assert_true(made_up_step());
		for (int more = 1; more < TOGETHER; more++)
			driver_delivered(&made_up.driver, DRIVEN_BATCH, 0, 1000);
	}
	assert_int_equal(window->settled,
			 2 * TOGETHER);      /* 8 and those that came with them */
	assert_int_equal(window->steps, 24); /* whole rounds of whole steps */
}

/* Asks once, after the step before had so many batches. */
static void step_after(uint32_t batches)
{
	for (uint32_t more = 1; more < batches; more++)
		driver_delivered(&made_up.driver, DRIVEN_BATCH, 0, 1000);
	assert_true(made_up_step());
}

/* A step that fills a queue has more than was to be thrown away: a list has no more for that. */
TEST_WITH(batches_thrown_away_beyond_those_asked_for_are_not_measured, made_up_begin,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	made_up.most = 30;
	while (window->state != TRACE_RUNNING)
		assert_true(made_up_step());
	step_after(1);
	assert_int_equal(window->settled, 0);
	step_after(9);
	assert_int_equal(window->settled, 10);
	assert_int_equal(window->most_steps, 30 - (10 - 2));
}

TEST_WITH(batches_that_come_together_end_a_window_together, made_up_begin,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	made_up.driver.round = 3;
	window->min_steps = window->settle = 1;
	window->length_ns = 1;
	made_up_train(window);
	assert_int_equal(window->steps, 4 * 3);
	assert_int_equal(made_up.steps,
			 (2 + 4) * 3 + 1); /* the last one is behind it */
}
