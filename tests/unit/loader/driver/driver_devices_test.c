/* driver_devices_test.c - when the driver waits until devices have done what they were given. */
#include "tests/lib/driven.h"
#include "tests/lib/made_up.h"
#include "tests/lib/test.h"

#include <stdint.h>

TEST_WITH(devices_are_waited_for_at_both_ends, made_up_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	const struct trace_step *last;

	made_up.devices = TRACE_AWAITED;
	while (window->begin.time_ns == 0)
		assert_true(made_up_step());
	assert_int_equal(made_up.stills, 1);
	assert_true(window->begin.time_ns >= made_up.still_ns);
	made_up_train(window);
	assert_int_equal(made_up.stills, 2);
	last = &driven.trace->steps[window->first_step + window->step_records - 1];
	assert_true(last->end_ns >= made_up.still_ns); /* its step lasts so long */
	assert_int_equal(window->made.devices, TRACE_AWAITED);
}

/* As stops, budgets and the samples that dsa wants do, mostly. */
TEST_WITH(so_they_are_where_the_data_end_in_mid_window, made_up_begin, driven_teardown)
{
	made_up.devices = TRACE_AWAITED;
	for (int i = 0; i < 2; i++) {
		struct trace_window *window = driven_ask(TRACE_CACHED);
		const struct trace_step *last;

		window->length_ns = UINT64_MAX / 2;
		made_up.stills = 0;
		while (window->steps < 3)
			assert_true(made_up_step());
		if (i == 0)
			driven.trace->until_samples = 1;
		else
			driven.trace->stop = 1;
		driven.trace->processes[0].counters[TRACE_delivered_samples] = 1;
		assert_false(made_up_step());
		assert_int_equal(made_up.stills, 2);
		assert_int_equal(window->state, TRACE_DONE);
		last = &driven.trace
				->steps[window->first_step + window->step_records - 1];
		assert_true(last->end_ns >= made_up.still_ns);
		driven.trace->until_samples = 0;
	}
}

/* Nobody asks for another batch: what the last step took is not known. */
TEST_WITH(a_window_that_closes_with_busy_devices_is_refused, made_up_begin,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	made_up.devices = TRACE_AWAITED;
	window->length_ns = UINT64_MAX / 2;
	while (window->steps < 3)
		assert_true(made_up_step());
	driver_close(&made_up.driver);
	assert_int_equal(window->state, TRACE_REFUSED);
	assert_int_equal(window->cut, 0);
}

/* The last step lasts until they are done; no other window begins. */
TEST_WITH(where_the_data_end_devices_are_waited_for, made_up_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	const struct trace_step *last;

	made_up.devices = TRACE_AWAITED;
	window->length_ns = UINT64_MAX / 2;
	while (window->steps < 3)
		assert_true(made_up_step());
	driven_ask(TRACE_REAL);
	made_up.stills = 0;
	driver_data_ended(&made_up.driver);
	last = &driven.trace->steps[window->first_step + window->step_records - 1];
	assert_int_equal(made_up.stills, 1);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, 3);
	assert_true(last->end_ns >= made_up.still_ns);
	assert_int_equal(window->end.time_ns, last->end_ns);
	assert_false(made_up_step());
	assert_int_equal(driven.trace->window_now, 1);
}

/* Without any the window ends where the last batch was asked for. */
TEST_WITH(where_the_data_end_without_devices_the_request_does, made_up_begin,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	window->length_ns = UINT64_MAX / 2;
	while (window->steps < 3)
		assert_true(made_up_step());
	driver_data_ended(&made_up.driver);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->end.time_ns, driven.trace->last_request_ns);
}

/* The end of an epoch is known when the next one's first batch is asked for. */
TEST_WITH(so_they_are_where_whole_epochs_end, made_up_begin, driven_teardown)
{
	struct trace_window *epoch = driven_ask(TRACE_REAL);

	epoch->flags = TRACE_EPOCH;
	epoch->settle = epoch->min_steps = 0;
	epoch->length_ns = 0;
	made_up_train(epoch);
	assert_int_equal(epoch->state, TRACE_DONE);
	assert_int_equal(made_up.stills, 2);
}

/* It goes on measuring as it did until all have enough. */
TEST_WITH(jobs_in_step_wait_for_devices_once, made_up_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	driven.trace->in_step = 1;
	driven.trace->may_begin = 1;
	while (window->progress != TRACE_ENOUGH)
		assert_true(made_up_step());
	for (int i = 0; i < 10; i++)
		assert_true(made_up_step());
	assert_int_equal(made_up.stills, 1);
	driven.trace->may_end = 1;
	driven_ask(TRACE_REAL);
	made_up_train(window);
	assert_int_equal(made_up.stills, 2);
}

TEST_WITH(an_observed_run_waits_for_no_device, made_up_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL);

	driven.trace->observe = 1;
	made_up_train(window);
	assert_int_equal(made_up.stills, 0);
	assert_int_equal(window->made.devices, TRACE_NO_DEVICES);
}
