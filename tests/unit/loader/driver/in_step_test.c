/* in_step_test.c - a loader that waits for others at the edges of windows. */
#include "loader/base/clock.h"
#include "loader/driver/driver_state.h"
#include "tests/lib/driven.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { NEVER = 200 }; /* batches that show that something does not happen */

static int open_in_step(void **state)
{
	if (driven_setup(state) < 0)
		return -1;
	driven_open("");
	driven.trace->in_step = 1;
	return 0;
}

/* A window of 4 steps, however short. */
static struct trace_window *ask(enum trace_kind kind, unsigned flags)
{
	struct trace_window *window = driven_ask(kind);

	window->flags = flags;
	window->min_steps = 4;
	window->length_ns = 1;
	return window;
}

/* Takes batches; returns how many of them were repeated ones. */
static unsigned train(unsigned batches)
{
	unsigned repeated = 0;

	for (unsigned i = 0; i < batches; i++) {
		struct dsa_batch batch;

		assert_int_equal(dsa_next(driven.loader, &batch), 1);
		repeated += batch.repeated;
		assert_int_equal(dsa_release(driven.loader, &batch), 0);
	}
	return repeated;
}

/* dsa's side of a wait inside dsa_next(): what it waits for, and what it does then. */
struct other {
	pthread_t thread;
	const _Atomic uint32_t *seen;
	uint32_t wanted;
	_Atomic uint32_t *to;
	uint32_t value;
	uint64_t delivered; /* when it was seen */
};

static void *play(void *context)
{
	struct other *other = context;

	while (atomic_load(other->seen) != other->wanted)
		clock_sleep_until(clock_now() + 1000000);
	other->delivered = driven.trace->processes[0].counters[TRACE_delivered_batches];
	atomic_store(other->to, other->value);
	return NULL;
}

static void play_along(struct other *other)
{
	assert_int_equal(pthread_create(&other->thread, NULL, play, other), 0);
}

TEST_WITH(nothing_is_measured_before_the_others_have_settled, open_in_step,
	  driven_teardown)
{
	struct trace_window *window = ask(TRACE_REAL, 0);

	train(NEVER);
	assert_int_equal(window->progress, TRACE_SETTLED);
	assert_int_equal(window->state, TRACE_RUNNING);
	assert_int_equal(window->begin.time_ns, 0);
	driven.trace->may_begin = 1;
	train(1);
	assert_true(window->begin.time_ns > 0);
	assert_true(window->begin.counters[TRACE_delivered_batches] == NEVER);
}

TEST_WITH(it_is_measured_until_the_others_have_enough, open_in_step, driven_teardown)
{
	struct trace_window *window = ask(TRACE_SYNTHETIC, 0);

	driven.trace->may_begin = 1;
	train(NEVER);
	assert_int_equal(window->progress, TRACE_ENOUGH);
	assert_int_equal(window->state, TRACE_RUNNING);
	driven.trace->may_end = 1;
	train(1);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, NEVER - window->settle);
	/* And goes on as it was, unmeasured, until there is a next one. */
	assert_int_equal(train(NEVER), NEVER);
	assert_int_equal(window->steps, NEVER - window->settle);
	assert_int_equal(driven.trace->window_now, 1);
}

TEST_WITH(prep_goes_on_behind_a_loaded_window_that_is_over, open_in_step,
	  driven_teardown)
{
	struct trace_window *window = ask(TRACE_LOADED, 0);
	const _Atomic uint64_t *prepared =
		&driven.trace->processes[0].counters[TRACE_prepared_samples];
	uint64_t end, deadline = clock_now() + 60000000000;

	driven.trace->may_begin = driven.trace->may_end = 1;
	while (window->state != TRACE_DONE)
		train(1);
	end = window->end.counters[TRACE_prepared_samples];
	while (*prepared < end + 10 * DRIVEN_BATCH && clock_now() < deadline)
		train(1);
	assert_true(*prepared >= end + 10 * DRIVEN_BATCH);
}

TEST_WITH(the_first_batch_waits_for_the_first_window, open_in_step, driven_teardown)
{
	struct other other = {.seen = &driven.trace->driver,
			      .wanted = 1,
			      .to = &driven.trace->window_count,
			      .value = 1};
	struct trace_window *window = ask(TRACE_SYNTHETIC, 0);

	driven.trace->window_count = 0;
	play_along(&other);
	assert_int_equal(train(1), 1);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.delivered, 0);
	assert_int_equal(window->state, TRACE_RUNNING);
}

TEST_WITH(what_another_does_alone_is_sat_out, open_in_step, driven_teardown)
{
	struct trace_window *aside = ask(TRACE_PREP, TRACE_ASIDE);
	struct trace_window *after = ask(TRACE_SYNTHETIC, 0);
	struct other other = {.seen = &aside->progress,
			      .wanted = TRACE_ENOUGH,
			      .to = &driven.trace->may_end,
			      .value = 1};

	play_along(&other);
	assert_int_equal(train(1), 1);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.delivered, 0);
	assert_int_equal(aside->state, TRACE_REFUSED);
	assert_int_equal(aside->samples, 0);
	assert_int_equal(after->state, TRACE_RUNNING);
}

TEST_WITH(what_is_done_alone_waits_for_the_others_to_stand_back, open_in_step,
	  driven_teardown)
{
	struct trace_window *prep = ask(TRACE_PREP, 0);
	struct other other = {.seen = &prep->progress,
			      .wanted = TRACE_SETTLED,
			      .to = &driven.trace->may_begin,
			      .value = 1};

	prep->length_ns = 200000000;
	ask(TRACE_SYNTHETIC, 0);
	play_along(&other);
	train(1);
	pthread_join(other.thread, NULL);
	assert_int_equal(prep->state, TRACE_DONE);
	assert_true(prep->samples > 0);
	assert_true(prep->begin.time_ns > prep->switch_ns);
}

TEST_WITH(one_that_was_let_go_waits_for_nobody, open_in_step, driven_teardown)
{
	struct trace_window *window = ask(TRACE_SYNTHETIC, 0);

	train(NEVER);
	assert_int_equal(window->state, TRACE_RUNNING);
	driven.trace->in_step = 0;
	train(NEVER);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(train(10), 0); /* the real thing again */
}

TEST_WITH(without_dsa_it_goes_on_alone, open_in_step, driven_teardown)
{
	ask(TRACE_SYNTHETIC, 0);
	driven.trace->dsa_start++; /* nobody has that pid and that start */
	assert_int_equal(train(10), 0);
}

TEST_WITH(a_dsa_that_cannot_be_seen_leads, open_in_step, driven_teardown)
{
	ask(TRACE_SYNTHETIC, 0);
	driven.trace->dsa_pid_ns++; /* as in another container */
	assert_int_equal(train(10), 10);
}

/* Looks again, without the time between two looks. */
static bool looks_led(struct driver *driver)
{
	driver->looked_ns = 0;
	return driver_led(driver);
}

TEST_WITH(a_dsa_that_cannot_be_seen_is_heard, open_in_step, driven_teardown)
{
	struct driver driver = {.trace = driven.trace};
	unsigned looks = 0;

	driven.trace->dsa_pid_ns++;
	for (unsigned i = 0; i < 1000; i++) {
		driven.trace->heartbeat++;
		assert_true(looks_led(&driver));
	}
	while (looks_led(&driver) && looks < 1000)
		looks++;
	assert_in_range(looks, 50, 500); /* of 100 ms */
	driven.trace->heartbeat++;       /* it was stopped for a while */
	assert_true(looks_led(&driver));
}

TEST_WITH(the_stop_flag_ends_a_wait, open_in_step, driven_teardown)
{
	struct trace_window *aside = ask(TRACE_FETCH, TRACE_ASIDE);
	struct other other = {.seen = &aside->progress,
			      .wanted = TRACE_ENOUGH,
			      .to = &driven.trace->stop,
			      .value = 1};
	struct dsa_batch batch;

	play_along(&other);
	assert_int_equal(dsa_next(driven.loader, &batch), 0);
	pthread_join(other.thread, NULL);
}
