/*
 * driver_ops_test.c - a loader with no pipeline in the windows of a session: what its
 * driver asks of it, and in which order.
 */
#include "loader/base/clock.h"
#include "tests/lib/driven.h"
#include "tests/lib/made_up.h"
#include "tests/lib/test.h"

#include <stdint.h>

TEST_WITH(each_window_is_entered_from_rest_and_left, made_up_begin, driven_teardown)
{
	struct trace_window *real = driven_ask(TRACE_REAL);
	struct trace_window *cached = driven_ask(TRACE_CACHED);
	struct trace_window *synthetic = driven_ask(TRACE_SYNTHETIC);

	made_up_train(synthetic);
	assert_string_equal(made_up.log,
			    "drain real leave drain cached leave drain synthetic "
			    "leave drain resume");
	assert_int_equal(real->state, TRACE_DONE);
	assert_int_equal(cached->state, TRACE_DONE);
	assert_int_equal(synthetic->state, TRACE_DONE);
	assert_true(cached->steps >= 8);
	assert_int_equal(cached->samples, cached->steps * DRIVEN_BATCH);
	assert_int_equal(cached->staged, MADE_UP_STAGED);
	assert_int_equal(cached->staged_repeats, 1);
	assert_true(cached->step_records > 0);
	assert_int_equal(driven.trace->loader.batch, DRIVEN_BATCH);
	assert_true(driven.trace->loader_ready);
}

TEST_WITH(its_own_numbers_are_in_the_snapshots, made_up_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	const struct trace_sample *sample;

	made_up.prepared = 40;
	while (window->begin.time_ns == 0)
		assert_true(made_up_step());
	made_up.prepared = 100;
	made_up_train(window);
	assert_int_equal(driven_counted(window, TRACE_prepared_samples), 60);
	assert_int_equal(window->end.cache_bytes, MADE_UP_CACHED_BYTES);
	assert_int_equal(window->end.read_bytes, MADE_UP_READ_BYTES);
	assert_int_equal(window->sample_records, 1);
	sample = &driven.trace->samples[window->first_sample];
	assert_int_equal(sample->window, 0);
	assert_int_equal(sample->bytes, 100);
	assert_true(sample->batch > 8);
}

TEST_WITH(what_it_cannot_do_is_refused_and_the_next_goes_on, made_up_begin,
	  driven_teardown)
{
	struct trace_window *cached = driven_ask(TRACE_CACHED);
	struct trace_window *fill = driven_ask(TRACE_FILL);
	struct trace_window *fetch = driven_ask(TRACE_FETCH);
	struct trace_window *real = driven_ask(TRACE_REAL);

	made_up.refuses = 1u << TRACE_CACHED | 1u << TRACE_FILL | 1u << TRACE_FETCH;
	made_up_train(real);
	assert_string_equal(made_up.log,
			    "drain cached drain fill drain fetch drain real "
			    "leave");
	assert_int_equal(cached->state, TRACE_REFUSED);
	assert_int_equal(fill->state, TRACE_REFUSED);
	assert_int_equal(fetch->state, TRACE_REFUSED);
	assert_int_equal(real->state, TRACE_DONE);
	assert_int_equal(driven.trace->window_now, 4);
}

TEST_WITH(a_window_that_delivers_nothing_runs_inside_one_request, made_up_begin,
	  driven_teardown)
{
	struct trace_window *prep = driven_ask(TRACE_PREP);
	struct trace_window *fill = driven_ask(TRACE_FILL);

	assert_true(made_up_step());
	assert_string_equal(made_up.log,
			    "drain prep settle work leave drain drain fill "
			    "drain resume");
	assert_int_equal(prep->state, TRACE_DONE);
	assert_int_equal(prep->samples, 1000);
	assert_int_equal(prep->steps, 0);
	assert_int_equal(fill->state, TRACE_DONE);
	assert_int_equal(fill->end.cache_bytes, MADE_UP_CACHED_BYTES);
}

TEST_WITH(the_stop_flag_ends_the_data_and_keeps_what_was_measured, made_up_begin,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_SYNTHETIC);

	window->length_ns = UINT64_MAX / 2;
	for (int i = 0; i < 20; i++)
		assert_true(made_up_step());
	assert_false(driver_stopped(&made_up.driver));
	atomic_store(&driven.trace->stop, 1);
	assert_true(driver_stopped(&made_up.driver));
	assert_false(made_up_step());
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, 20 - window->settle);
	assert_false(made_up_step());
	assert_string_equal(made_up.log, "drain synthetic leave");
}

TEST_WITH(the_stop_flag_ends_the_data_behind_a_window_alone, made_up_begin,
	  driven_teardown)
{
	struct trace_window *prep = driven_ask(TRACE_PREP);

	driven_ask(TRACE_REAL);
	made_up.stops = true;
	assert_false(made_up_step());
	assert_int_equal(prep->state, TRACE_DONE);
	assert_int_equal(driven.trace->window_now, 1);
}

TEST_WITH(windows_of_an_epoch_follow_without_a_switch, made_up_begin, driven_teardown)
{
	struct trace_window *before = driven_ask(TRACE_REAL), *epochs[2];

	for (int i = 0; i < 2; i++) {
		epochs[i] = driven_ask(TRACE_REAL);
		epochs[i]->flags = TRACE_EPOCH;
		epochs[i]->settle = epochs[i]->min_steps = 0;
		epochs[i]->length_ns = 0;
	}
	made_up_train(epochs[1]);
	assert_int_equal(before->state, TRACE_DONE);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(epochs[i]->state, TRACE_DONE);
		assert_int_equal(epochs[i]->steps, MADE_UP_EPOCH_STEPS);
	}
	assert_string_equal(made_up.log, "drain real leave leave leave");
}

/* A window of a second, cut short, in which so many samples are ready at the begin, and at the
 * end; `comes` more at each look until it is measured. */
static struct trace_window *made_ready(enum trace_kind kind, uint64_t begin,
				       uint64_t end, uint64_t comes)
{
	struct trace_window *window = driven_ask(kind);

	window->length_ns = 1000000000;
	made_up.ahead = begin;
	made_up.comes = comes;
	while (window->begin.time_ns == 0)
		assert_true(made_up_step());
	window->length_ns = 1000000;
	made_up.comes = 0;
	begin = made_up.ahead;
	made_up.ahead = end;
	made_up_train(window);
	made_up.ahead = begin;
	return window;
}

/* By a quarter of what the windows before ended with beyond their begin. */
TEST_WITH(windows_begin_as_far_ahead_as_those_of_their_kind_end, made_up_begin,
	  driven_teardown)
{
	const struct trace_window *window;

	made_ready(TRACE_REAL, 10, 34, 0);
	assert_int_equal(made_up.ahead, 10);
	made_ready(TRACE_CACHED, 10, 10, 2); /* 12 there are, and 14 when it begins */
	assert_int_equal(made_up.ahead, 14);
	window = made_ready(TRACE_REAL, 10, 30, 2); /* 12 there are; by 24 / 4 */
	assert_int_equal(made_up.ahead, 12 + 6 + 2);
	assert_true(window->catch_up_ns >= 3000000);
	made_ready(TRACE_REAL, 10, 0, 2); /* and by 10 / 4 */
	assert_int_equal(made_up.ahead, 12 + 8 + 2);
	made_ready(TRACE_REAL, 10, 10, 2); /* less by 22 / 4: by 3 */
	assert_int_equal(made_up.ahead, 12 + 4 + 2);
}

/* Nor is waited for more than there is room for. */
TEST_WITH(what_does_not_come_is_not_waited_for_long, made_up_begin, driven_teardown)
{
	const struct trace_window *window;

	made_ready(TRACE_REAL, 0, 1000, 0);
	window = made_ready(TRACE_REAL, 0, 0, 0);
	assert_true(window->catch_up_ns >= 125000000);
	made_ready(TRACE_REAL, 0, 0, 10);
	assert_int_equal(made_up.ahead, 10 + 5 * DRIVEN_BATCH + 10);
}

TEST_WITH(without_dsa_it_is_left_alone, made_up_begin, driven_teardown)
{
	driven_ask(TRACE_SYNTHETIC);
	driven.trace->dsa_start++; /* nobody has that pid and that start */
	for (int i = 0; i < 20; i++)
		assert_true(made_up_step());
	assert_string_equal(made_up.log, "");
}

TEST_WITH(one_drives_and_then_another_in_its_slot, made_up_begin, driven_teardown)
{
	struct trace_process *process = &driven.trace->processes[0];
	struct driver_parts parts = made_up_parts(process);
	struct driver_parts other = made_up_parts(&driven.trace->processes[1]);
	struct driver second;

	assert_false(driver_open(&second, &other));
	made_up.prepared = 40;
	made_up_train(driven_ask(
		TRACE_REAL)); /* so that others are not to be mixed with it */
	driver_close(&made_up.driver);
	assert_false(driver_open(&second, &other));
	parts.same = true;
	made_up.prepared = 2;
	assert_true(driver_open(&made_up.driver, &parts));
	made_up_train(driven_ask(TRACE_SYNTHETIC));
	assert_int_equal(process->counters[TRACE_prepared_samples], 42);
}

TEST_WITH(a_window_ends_with_what_the_loader_has, made_up_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL);

	made_up.most = 11;
	window->length_ns = UINT64_MAX / 2;
	made_up_train(window);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, 11);
}

TEST_WITH(what_is_no_step_of_the_loop_is_in_no_window, made_up_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	uint32_t steps;

	while (window->steps < 2)
		assert_true(made_up_step());
	steps = window->steps;
	driver_skip_step(&made_up.driver);
	assert_true(made_up_step());
	assert_int_equal(window->steps, steps);
	assert_true(window->outside_ns > 0);
	made_up_train(window);
	assert_int_equal(window->state, TRACE_DONE);
}

/* The window of a run that is observed, after two of its steps. */
static struct trace_window *observed_two_steps(void)
{
	struct trace_window *window = driven_ask(TRACE_REAL);

	driven.trace->observe = 1;
	window->length_ns = UINT64_MAX;
	while (window->steps < 2)
		assert_true(made_up_step());
	return window;
}

/* As an evaluation with another loader is. */
TEST_WITH(what_comes_before_the_next_request_is_outside_too, made_up_begin,
	  driven_teardown)
{
	struct trace_window *window = observed_two_steps();
	uint64_t in_steps = 0;

	for (int i = 0; i < 2; i++) {
		driver_skip_step(&made_up.driver);
		clock_sleep_until(clock_now() + 10000000);
	}
	assert_int_equal(window->outside_ns, 0); /* there may be no request more */
	assert_true(made_up_step() && made_up_step());
	assert_true(window->outside_ns >= 20000000);
	driver_close(&made_up.driver);
	for (uint32_t i = 0; i < window->step_records; i++)
		in_steps += driven.trace->steps[i].end_ns -
			    driven.trace->steps[i].request_ns;
	assert_int_equal(in_steps + window->outside_ns,
			 driven.trace->last_request_ns - window->begin.time_ns);
}

TEST_WITH(of_which_an_epochs_start_is_none, made_up_begin, driven_teardown)
{
	struct trace_window *window = observed_two_steps();

	driver_skip_step(&made_up.driver);
	driver_skip_epoch(&made_up.driver, UINT64_MAX / 4);
	clock_sleep_until(clock_now() + 10000000);
	assert_true(made_up_step());
	assert_int_equal(window->outside_ns, 0);
}

TEST_WITH(a_program_that_begins_anew_cuts_the_window, made_up_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	while (window->steps < 2)
		assert_true(made_up_step());
	made_up.log[0] = '\0';
	driver_cut(&made_up.driver);
	assert_int_equal(window->state, TRACE_REFUSED);
	assert_int_equal(window->cut, 1);
	assert_string_equal(made_up.log, "");
	assert_true(
		made_up_step()); /* as the program asked: nothing is switched for that */
	assert_string_equal(made_up.log, "");
	made_up_train(driven_ask(TRACE_CACHED));
	assert_string_equal(made_up.log, "drain cached leave drain resume");
}

TEST_WITH(an_observed_run_is_not_cut, made_up_begin, driven_teardown)
{
	struct trace_window *window = observed_two_steps();

	driver_cut(&made_up.driver);
	assert_int_equal(window->state, TRACE_RUNNING);
	assert_true(made_up_step() && made_up_step() && made_up_step());
	assert_true(window->steps > 2);
}

/* ---- of a loader that others do alike ---- */

static struct {
	struct driver_ops ops;
	bool can;       /* all of them can change their states */
	unsigned asked; /* whether they can */
	uint32_t round;
} alike;

static bool alike_agree(void *loader, uint32_t round)
{
	assert_ptr_equal(loader, &made_up);
	alike.asked++;
	alike.round = round;
	return alike.can;
}

static int alike_begin(void **state)
{
	int result = made_up_begin(state);

	alike.ops = *made_up.driver.ops;
	alike.ops.agree = alike_agree;
	alike.can = true;
	alike.asked = 0;
	made_up.driver.ops = &alike.ops;
	return result;
}

/* Asks for steps until they were asked so often. */
static void alike_train(unsigned asked)
{
	while (alike.asked < asked)
		assert_true(made_up_step());
}

TEST_WITH(a_window_ends_where_all_loaders_alike_can, alike_begin, driven_teardown)
{
	struct trace_window *synthetic = driven_ask(TRACE_SYNTHETIC), *real;

	driver_set_round(&made_up.driver, 4);
	assert_true(made_up_step());
	assert_int_equal(alike.asked, 1);
	assert_int_equal(alike.round, 4);
	real = driven_ask(TRACE_REAL);
	alike.can = false;
	alike_train(2);
	assert_true(synthetic->steps >= synthetic->min_steps);
	alike_train(2 + 10); /* at each of the next requests */
	assert_int_equal(synthetic->state, TRACE_RUNNING);
	assert_int_equal(real->state, TRACE_ASKED);
	assert_string_equal(made_up.log, "drain synthetic");
	alike.can = true;
	assert_true(made_up_step());
	assert_int_equal(synthetic->state, TRACE_DONE);
	assert_int_equal(synthetic->steps, made_up.steps - 1 - synthetic->settled);
	assert_int_equal(synthetic->samples, synthetic->steps * DRIVEN_BATCH);
	assert_string_equal(made_up.log, "drain synthetic leave drain real");
	assert_int_equal(alike.asked, 2 + 10 + 1);
	assert_true(made_up_step()); /* nothing is to change */
	assert_int_equal(alike.asked, 2 + 10 + 1);
	made_up_train(real);
	assert_string_equal(made_up.log, "drain synthetic leave drain real leave");
}

TEST_WITH(a_window_begins_where_all_loaders_alike_can, alike_begin, driven_teardown)
{
	const struct trace_window *window;

	assert_true(made_up_step());
	assert_int_equal(alike.asked, 0);
	window = driven_ask(TRACE_SYNTHETIC);
	alike.can = false;
	alike_train(5);
	assert_int_equal(window->state, TRACE_ASKED);
	assert_string_equal(made_up.log, "");
	alike.can = true;
	assert_true(made_up_step());
	assert_int_equal(window->state, TRACE_RUNNING);
	made_up_train(window);
	assert_string_equal(made_up.log, "drain synthetic leave drain resume");
}

TEST_WITH(the_data_end_where_all_loaders_alike_can, alike_begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_SYNTHETIC);

	window->length_ns = UINT64_MAX / 2;
	while (window->steps < 2)
		assert_true(made_up_step());
	alike.can = false;
	atomic_store(&driven.trace->stop, 1);
	for (unsigned i = 0; i < 5; i++)
		assert_true(made_up_step());
	assert_int_equal(window->state, TRACE_RUNNING);
	alike.can = true;
	assert_false(made_up_step());
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, made_up.steps - window->settled);
	assert_string_equal(made_up.log, "drain synthetic leave");
}

/* So do those that end with a number of samples. */
TEST_WITH(all_samples_may_be_there_before_all_loaders_alike_end, alike_begin,
	  driven_teardown)
{
	driven.trace->until_samples = 1;
	made_up.driver.process->counters[TRACE_delivered_samples] = 1;
	alike.can = false;
	for (unsigned i = 0; i < 3; i++)
		assert_true(made_up_step());
	assert_int_equal(alike.asked, 3);
	alike.can = true;
	assert_false(made_up_step());
}

TEST_WITH(an_observed_run_asks_no_loaders_alike, alike_begin, driven_teardown)
{
	alike.can = false;
	observed_two_steps();
	atomic_store(&driven.trace->stop, 1);
	assert_false(made_up_step());
	assert_int_equal(alike.asked, 0);
}
