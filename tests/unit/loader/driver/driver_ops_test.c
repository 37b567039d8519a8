/*
 * driver_ops_test.c - a loader with no pipeline in the windows of a session: what its
 * driver asks of it, and in which order.
 */
#include "loader/base/clock.h"
#include "loader/driver.h"
#include "tests/lib/driven.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { STAGED = 77, CACHED_BYTES = 4096, READ_BYTES = 8192, EPOCH_STEPS = 10 };

static struct made_up {
	struct driver driver;
	struct trace_loader about;
	char log[512];    /* what it was asked for */
	unsigned refuses; /* windows of these kinds: a bit each */
	bool at_rest, delivers, stops;
	uint32_t most;     /* steps that it has batches for in a window */
	uint64_t prepared; /* what it counts itself */
	uint64_t steps;
	unsigned stills;   /* times that devices were waited for, */
	uint64_t still_ns; /* the last one, */
	uint32_t devices;  /* and what that gave */
	uint64_t ahead;    /* samples that are ready, */
	uint64_t comes;    /* and so many more each time that it is asked */
} made_up;

static void noted(const char *what)
{
	size_t length = strlen(made_up.log);

	snprintf(made_up.log + length, sizeof(made_up.log) - length, "%s%s",
		 length > 0 ? " " : "", what);
}

/* ---- what a loader does ---- */

static void made_up_drain(void *loader)
{
	assert_ptr_equal(loader, &made_up);
	noted("drain");
	made_up.at_rest = true;
	made_up.delivers = false;
}

static int made_up_enter(void *loader, struct trace_window *window)
{
	static const char *const names[] = {
#define MADE_UP_NAME(id, name) name,
		TRACE_RATED(MADE_UP_NAME)
#undef MADE_UP_NAME
			"fill"};

	(void)loader;
	assert_true(made_up.at_rest);
	noted(names[window->kind]);
	if (made_up.refuses & 1u << window->kind)
		return -ENOTSUP;
	made_up.at_rest = window->kind == TRACE_FILL;
	made_up.delivers = window->kind < TRACE_PREP;
	window->staged = STAGED;
	window->most_steps = made_up.most;
	return window->kind == TRACE_REAL;
}

static void made_up_resume(void *loader)
{
	(void)loader;
	assert_true(made_up.at_rest);
	noted("resume");
	made_up.at_rest = false;
	made_up.delivers = true;
}

static void made_up_work(void *loader, const struct trace_window *window,
			 uint64_t length_ns, bool measured)
{
	(void)loader;
	assert_int_equal(window->begin.time_ns != 0, measured);
	assert_true(length_ns > 0);
	noted(measured ? "work" : "settle");
	made_up.prepared += measured ? 1000 : 10;
	if (made_up.stops)
		atomic_store(&driven.trace->stop, 1);
}

static uint32_t made_up_still(void *loader)
{
	(void)loader;
	made_up.stills++;
	made_up.still_ns = clock_now();
	return made_up.devices;
}

static uint64_t made_up_ahead(void *loader)
{
	(void)loader;
	return made_up.ahead += made_up.comes;
}

static void made_up_count(void *loader)
{
	(void)loader;
	driver_count(&made_up.driver, TRACE_prepared_samples, made_up.prepared);
}

static void made_up_look(void *loader, struct trace_snapshot *snapshot)
{
	(void)loader;
	assert_int_equal(snapshot->cache_bytes, 0);
	snapshot->cache_bytes = CACHED_BYTES;
	snapshot->read_bytes = READ_BYTES;
}

static void made_up_leave(void *loader, struct trace_window *window)
{
	const struct trace_sample sample = {.sample = 3, .bytes = 100, .fetch_ns = 5};

	(void)loader;
	assert_false(made_up.at_rest);
	noted("leave");
	window->staged_repeats = 1;
	driver_record_sample(&made_up.driver, 1, &sample);
}

static const struct driver_ops made_up_ops = {
	.drain = made_up_drain,
	.enter = made_up_enter,
	.resume = made_up_resume,
	.work = made_up_work,
	.ahead = made_up_ahead,
	.still = made_up_still,
	.count = made_up_count,
	.look = made_up_look,
	.leave = made_up_leave,
};

/* ---- a program with it ---- */

static struct driver_parts made_up_parts(struct trace_process *process)
{
	return (struct driver_parts){
		.trace = driven.trace,
		.process = process,
		.ops = &made_up_ops,
		.loader = &made_up,
		.about = &made_up.about,
		.resumed = true,
	};
}

static int begin(void **state)
{
	struct driver_parts parts;

	if (driven_setup(state) < 0)
		return -1;
	made_up = (struct made_up){.about = {.batch = DRIVEN_BATCH, .slots = 5},
				   .delivers = true};
	parts = made_up_parts(trace_claim(driven.trace, "", false));
	return driver_open(&made_up.driver, &parts) ? 0 : -1;
}

/* The step that the program takes; false: there is no batch more. */
static bool step(void)
{
	uint64_t epoch = made_up.steps / EPOCH_STEPS;

	if (driver_request(&made_up.driver, clock_now(), epoch) == 0)
		return false;
	assert_true(made_up.delivers);
	driver_delivered(&made_up.driver, DRIVEN_BATCH, epoch, 0);
	made_up.steps++;
	return true;
}

/* Steps until the window is over. */
static void train(const struct trace_window *window)
{
	while (window->state < TRACE_DONE)
		assert_true(step());
}

/* Each with its own wait; the last one computes for all of them. */
TEST_WITH(batches_that_are_taken_together_are_steps_of_their_own, begin,
	  driven_teardown)
{
	enum { TOGETHER = 8 };
	struct trace_window *window = driven_ask(TRACE_REAL);
	const struct trace_step *steps = driven.trace->steps;

	window->settle = 0;
	window->length_ns = 0;
	window->min_steps = 2 * TOGETHER;
	while (window->state < TRACE_DONE) {
		assert_true(step());
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
TEST_WITH(batches_that_are_taken_together_share_records, begin, driven_teardown)
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
TEST_WITH(windows_of_batches_taken_together_end, begin, driven_teardown)
{
	enum { TOGETHER = 6, ROUND = 4 };
	struct trace_window *window = driven_ask(TRACE_REAL);

	made_up.driver.round = ROUND;
	window->settle = 2 * ROUND;
	window->length_ns = 0;
	window->min_steps = 1;
	while (window->state < TRACE_DONE) {
		assert_in_range(window->steps, 0, 100);
		assert_true(step());
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
	assert_true(step());
}

/* A step that fills a queue has more than was to be thrown away: a list has no more for that. */
TEST_WITH(batches_thrown_away_beyond_those_asked_for_are_not_measured, begin,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	made_up.most = 30;
	while (window->state != TRACE_RUNNING)
		assert_true(step());
	step_after(1);
	assert_int_equal(window->settled, 0);
	step_after(9);
	assert_int_equal(window->settled, 10);
	assert_int_equal(window->most_steps, 30 - (10 - 2));
}

TEST_WITH(each_window_is_entered_from_rest_and_left, begin, driven_teardown)
{
	struct trace_window *real = driven_ask(TRACE_REAL);
	struct trace_window *cached = driven_ask(TRACE_CACHED);
	struct trace_window *synthetic = driven_ask(TRACE_SYNTHETIC);

	train(synthetic);
	assert_string_equal(made_up.log,
			    "drain real leave drain cached leave drain synthetic "
			    "leave drain resume");
	assert_int_equal(real->state, TRACE_DONE);
	assert_int_equal(cached->state, TRACE_DONE);
	assert_int_equal(synthetic->state, TRACE_DONE);
	assert_true(cached->steps >= 8);
	assert_int_equal(cached->samples, cached->steps * DRIVEN_BATCH);
	assert_int_equal(cached->staged, STAGED);
	assert_int_equal(cached->staged_repeats, 1);
	assert_true(cached->step_records > 0);
	assert_int_equal(driven.trace->loader.batch, DRIVEN_BATCH);
	assert_true(driven.trace->loader_ready);
}

TEST_WITH(its_own_numbers_are_in_the_snapshots, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	const struct trace_sample *sample;

	made_up.prepared = 40;
	while (window->begin.time_ns == 0)
		assert_true(step());
	made_up.prepared = 100;
	train(window);
	assert_int_equal(driven_counted(window, TRACE_prepared_samples), 60);
	assert_int_equal(window->end.cache_bytes, CACHED_BYTES);
	assert_int_equal(window->end.read_bytes, READ_BYTES);
	assert_int_equal(window->sample_records, 1);
	sample = &driven.trace->samples[window->first_sample];
	assert_int_equal(sample->window, 0);
	assert_int_equal(sample->bytes, 100);
	assert_true(sample->batch > 8);
}

TEST_WITH(what_it_cannot_do_is_refused_and_the_next_goes_on, begin, driven_teardown)
{
	struct trace_window *cached = driven_ask(TRACE_CACHED);
	struct trace_window *fill = driven_ask(TRACE_FILL);
	struct trace_window *fetch = driven_ask(TRACE_FETCH);
	struct trace_window *real = driven_ask(TRACE_REAL);

	made_up.refuses = 1u << TRACE_CACHED | 1u << TRACE_FILL | 1u << TRACE_FETCH;
	train(real);
	assert_string_equal(made_up.log,
			    "drain cached drain fill drain fetch drain real "
			    "leave");
	assert_int_equal(cached->state, TRACE_REFUSED);
	assert_int_equal(fill->state, TRACE_REFUSED);
	assert_int_equal(fetch->state, TRACE_REFUSED);
	assert_int_equal(real->state, TRACE_DONE);
	assert_int_equal(driven.trace->window_now, 4);
}

TEST_WITH(a_window_that_delivers_nothing_runs_inside_one_request, begin,
	  driven_teardown)
{
	struct trace_window *prep = driven_ask(TRACE_PREP);
	struct trace_window *fill = driven_ask(TRACE_FILL);

	assert_true(step());
	assert_string_equal(made_up.log,
			    "drain prep settle work leave drain drain fill "
			    "drain resume");
	assert_int_equal(prep->state, TRACE_DONE);
	assert_int_equal(prep->samples, 1000);
	assert_int_equal(prep->steps, 0);
	assert_int_equal(fill->state, TRACE_DONE);
	assert_int_equal(fill->end.cache_bytes, CACHED_BYTES);
}

TEST_WITH(the_stop_flag_ends_the_data_and_keeps_what_was_measured, begin,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_SYNTHETIC);

	window->length_ns = UINT64_MAX / 2;
	for (int i = 0; i < 20; i++)
		assert_true(step());
	assert_false(driver_stopped(&made_up.driver));
	atomic_store(&driven.trace->stop, 1);
	assert_true(driver_stopped(&made_up.driver));
	assert_false(step());
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, 20 - window->settle);
	assert_false(step());
	assert_string_equal(made_up.log, "drain synthetic leave");
}

TEST_WITH(the_stop_flag_ends_the_data_behind_a_window_alone, begin, driven_teardown)
{
	struct trace_window *prep = driven_ask(TRACE_PREP);

	driven_ask(TRACE_REAL);
	made_up.stops = true;
	assert_false(step());
	assert_int_equal(prep->state, TRACE_DONE);
	assert_int_equal(driven.trace->window_now, 1);
}

TEST_WITH(windows_of_an_epoch_follow_without_a_switch, begin, driven_teardown)
{
	struct trace_window *before = driven_ask(TRACE_REAL), *epochs[2];

	for (int i = 0; i < 2; i++) {
		epochs[i] = driven_ask(TRACE_REAL);
		epochs[i]->flags = TRACE_EPOCH;
		epochs[i]->settle = epochs[i]->min_steps = 0;
		epochs[i]->length_ns = 0;
	}
	train(epochs[1]);
	assert_int_equal(before->state, TRACE_DONE);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(epochs[i]->state, TRACE_DONE);
		assert_int_equal(epochs[i]->steps, EPOCH_STEPS);
	}
	assert_string_equal(made_up.log, "drain real leave leave leave");
}

TEST_WITH(devices_are_waited_for_at_both_ends, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	const struct trace_step *last;

	made_up.devices = TRACE_AWAITED;
	while (window->begin.time_ns == 0)
		assert_true(step());
	assert_int_equal(made_up.stills, 1);
	assert_true(window->begin.time_ns >= made_up.still_ns);
	train(window);
	assert_int_equal(made_up.stills, 2);
	last = &driven.trace->steps[window->first_step + window->step_records - 1];
	assert_true(last->end_ns >= made_up.still_ns); /* its step lasts so long */
	assert_int_equal(window->made.devices, TRACE_AWAITED);
}

/* As stops, budgets and the samples that dsa wants do, mostly. */
TEST_WITH(so_they_are_where_the_data_end_in_mid_window, begin, driven_teardown)
{
	made_up.devices = TRACE_AWAITED;
	for (int i = 0; i < 2; i++) {
		struct trace_window *window = driven_ask(TRACE_CACHED);
		const struct trace_step *last;

		window->length_ns = UINT64_MAX / 2;
		made_up.stills = 0;
		while (window->steps < 3)
			assert_true(step());
		if (i == 0)
			driven.trace->until_samples = 1;
		else
			driven.trace->stop = 1;
		driven.trace->processes[0].counters[TRACE_delivered_samples] = 1;
		assert_false(step());
		assert_int_equal(made_up.stills, 2);
		assert_int_equal(window->state, TRACE_DONE);
		last = &driven.trace
				->steps[window->first_step + window->step_records - 1];
		assert_true(last->end_ns >= made_up.still_ns);
		driven.trace->until_samples = 0;
	}
}

/* Nobody asks for another batch: what the last step took is not known. */
TEST_WITH(a_window_that_closes_with_busy_devices_is_refused, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	made_up.devices = TRACE_AWAITED;
	window->length_ns = UINT64_MAX / 2;
	while (window->steps < 3)
		assert_true(step());
	driver_close(&made_up.driver);
	assert_int_equal(window->state, TRACE_REFUSED);
	assert_int_equal(window->cut, 0);
}

/* The last step lasts until they are done; no other window begins. */
TEST_WITH(where_the_data_end_devices_are_waited_for, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	const struct trace_step *last;

	made_up.devices = TRACE_AWAITED;
	window->length_ns = UINT64_MAX / 2;
	while (window->steps < 3)
		assert_true(step());
	driven_ask(TRACE_REAL);
	made_up.stills = 0;
	driver_data_ended(&made_up.driver);
	last = &driven.trace->steps[window->first_step + window->step_records - 1];
	assert_int_equal(made_up.stills, 1);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, 3);
	assert_true(last->end_ns >= made_up.still_ns);
	assert_int_equal(window->end.time_ns, last->end_ns);
	assert_false(step());
	assert_int_equal(driven.trace->window_now, 1);
}

/* Without any the window ends where the last batch was asked for. */
TEST_WITH(where_the_data_end_without_devices_the_request_does, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	window->length_ns = UINT64_MAX / 2;
	while (window->steps < 3)
		assert_true(step());
	driver_data_ended(&made_up.driver);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->end.time_ns, driven.trace->last_request_ns);
}

/* The end of an epoch is known when the next one's first batch is asked for. */
TEST_WITH(so_they_are_where_whole_epochs_end, begin, driven_teardown)
{
	struct trace_window *epoch = driven_ask(TRACE_REAL);

	epoch->flags = TRACE_EPOCH;
	epoch->settle = epoch->min_steps = 0;
	epoch->length_ns = 0;
	train(epoch);
	assert_int_equal(epoch->state, TRACE_DONE);
	assert_int_equal(made_up.stills, 2);
}

/* It goes on measuring as it did until all have enough. */
TEST_WITH(jobs_in_step_wait_for_devices_once, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	driven.trace->in_step = 1;
	driven.trace->may_begin = 1;
	while (window->progress != TRACE_ENOUGH)
		assert_true(step());
	for (int i = 0; i < 10; i++)
		assert_true(step());
	assert_int_equal(made_up.stills, 1);
	driven.trace->may_end = 1;
	driven_ask(TRACE_REAL);
	train(window);
	assert_int_equal(made_up.stills, 2);
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
		assert_true(step());
	window->length_ns = 1000000;
	made_up.comes = 0;
	begin = made_up.ahead;
	made_up.ahead = end;
	train(window);
	made_up.ahead = begin;
	return window;
}

/* By a quarter of what the windows before ended with beyond their begin. */
TEST_WITH(windows_begin_as_far_ahead_as_those_of_their_kind_end, begin, driven_teardown)
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
TEST_WITH(what_does_not_come_is_not_waited_for_long, begin, driven_teardown)
{
	const struct trace_window *window;

	made_ready(TRACE_REAL, 0, 1000, 0);
	window = made_ready(TRACE_REAL, 0, 0, 0);
	assert_true(window->catch_up_ns >= 125000000);
	made_ready(TRACE_REAL, 0, 0, 10);
	assert_int_equal(made_up.ahead, 10 + 5 * DRIVEN_BATCH + 10);
}

TEST_WITH(an_observed_run_waits_for_no_device, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL);

	driven.trace->observe = 1;
	train(window);
	assert_int_equal(made_up.stills, 0);
	assert_int_equal(window->made.devices, TRACE_NO_DEVICES);
}

TEST_WITH(without_dsa_it_is_left_alone, begin, driven_teardown)
{
	driven_ask(TRACE_SYNTHETIC);
	driven.trace->dsa_start++; /* nobody has that pid and that start */
	for (int i = 0; i < 20; i++)
		assert_true(step());
	assert_string_equal(made_up.log, "");
}

TEST_WITH(one_drives_and_then_another_in_its_slot, begin, driven_teardown)
{
	struct trace_process *process = &driven.trace->processes[0];
	struct driver_parts parts = made_up_parts(process);
	struct driver_parts other = made_up_parts(&driven.trace->processes[1]);
	struct driver second;

	assert_false(driver_open(&second, &other));
	made_up.prepared = 40;
	train(driven_ask(TRACE_REAL)); /* so that others are not to be mixed with it */
	driver_close(&made_up.driver);
	assert_false(driver_open(&second, &other));
	parts.same = true;
	made_up.prepared = 2;
	assert_true(driver_open(&made_up.driver, &parts));
	train(driven_ask(TRACE_SYNTHETIC));
	assert_int_equal(process->counters[TRACE_prepared_samples], 42);
}

TEST_WITH(batches_that_come_together_end_a_window_together, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	made_up.driver.round = 3;
	window->min_steps = window->settle = 1;
	window->length_ns = 1;
	train(window);
	assert_int_equal(window->steps, 4 * 3);
	assert_int_equal(made_up.steps,
			 (2 + 4) * 3 + 1); /* the last one is behind it */
}

TEST_WITH(a_window_ends_with_what_the_loader_has, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL);

	made_up.most = 11;
	window->length_ns = UINT64_MAX / 2;
	train(window);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, 11);
}

TEST_WITH(what_is_no_step_of_the_loop_is_in_no_window, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	uint32_t steps;

	while (window->steps < 2)
		assert_true(step());
	steps = window->steps;
	driver_skip_step(&made_up.driver);
	assert_true(step());
	assert_int_equal(window->steps, steps);
	assert_true(window->outside_ns > 0);
	train(window);
	assert_int_equal(window->state, TRACE_DONE);
}

/* The window of a run that is observed, after two of its steps. */
static struct trace_window *observed_two_steps(void)
{
	struct trace_window *window = driven_ask(TRACE_REAL);

	driven.trace->observe = 1;
	window->length_ns = UINT64_MAX;
	while (window->steps < 2)
		assert_true(step());
	return window;
}

/* As an evaluation with another loader is. */
TEST_WITH(what_comes_before_the_next_request_is_outside_too, begin, driven_teardown)
{
	struct trace_window *window = observed_two_steps();
	uint64_t in_steps = 0;

	for (int i = 0; i < 2; i++) {
		driver_skip_step(&made_up.driver);
		clock_sleep_until(clock_now() + 10000000);
	}
	assert_int_equal(window->outside_ns, 0); /* there may be no request more */
	assert_true(step() && step());
	assert_true(window->outside_ns >= 20000000);
	driver_close(&made_up.driver);
	for (uint32_t i = 0; i < window->step_records; i++)
		in_steps += driven.trace->steps[i].end_ns -
			    driven.trace->steps[i].request_ns;
	assert_int_equal(in_steps + window->outside_ns,
			 driven.trace->last_request_ns - window->begin.time_ns);
}

TEST_WITH(of_which_an_epochs_start_is_none, begin, driven_teardown)
{
	struct trace_window *window = observed_two_steps();

	driver_skip_step(&made_up.driver);
	driver_skip_epoch(&made_up.driver, UINT64_MAX / 4);
	clock_sleep_until(clock_now() + 10000000);
	assert_true(step());
	assert_int_equal(window->outside_ns, 0);
}

TEST_WITH(a_program_that_begins_anew_cuts_the_window, begin, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);

	while (window->steps < 2)
		assert_true(step());
	made_up.log[0] = '\0';
	driver_cut(&made_up.driver);
	assert_int_equal(window->state, TRACE_REFUSED);
	assert_int_equal(window->cut, 1);
	assert_string_equal(made_up.log, "");
	assert_true(step()); /* as the program asked: nothing is switched for that */
	assert_string_equal(made_up.log, "");
	train(driven_ask(TRACE_CACHED));
	assert_string_equal(made_up.log, "drain cached leave drain resume");
}

TEST_WITH(an_observed_run_is_not_cut, begin, driven_teardown)
{
	struct trace_window *window = observed_two_steps();

	driver_cut(&made_up.driver);
	assert_int_equal(window->state, TRACE_RUNNING);
	assert_true(step() && step() && step());
	assert_true(window->steps > 2);
}
