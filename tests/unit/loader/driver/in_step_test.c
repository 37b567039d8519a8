#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/loader.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { BATCH = 8, NEVER = 200 }; /* batches that show that something does not happen */

static char session[64];
static struct trace *trace;
static struct dsa_loader *loader;

static int make_session(void **state)
{
	const struct dsa_config config = {.dataset = "synthetic:300",
					  .batch = BATCH,
					  .workers = 2,
					  .prefetch = 3,
					  .size = 16};

	(void)state;
	snprintf(session, sizeof(session), "/tmp/dsa-in-step-%d", (int)getpid());
	trace = trace_create(session, 7, NULL);
	setenv("DSA_SESSION", session, 1);
	if (trace == NULL || dsa_open(&config, &loader, NULL) < 0)
		return -1;
	trace->in_step = 1;
	return 0;
}

static int drop_session(void **state)
{
	(void)state;
	dsa_close(loader);
	loader = NULL;
	trace_unmap(trace);
	unlink(session);
	unsetenv("DSA_SESSION");
	return 0;
}

static struct trace_window *ask(enum trace_kind kind, unsigned flags)
{
	uint32_t at = trace->window_count;
	struct trace_window *window = &trace->windows[at];

	window->kind = kind;
	window->flags = flags;
	window->settle = 2;
	window->min_steps = 4;
	window->length_ns = 1;
	window->stage = 30 * BATCH;
	window->block = UINT32_MAX;
	atomic_store(&trace->window_count, at + 1);
	return window;
}

/* Takes batches; returns how many of them were repeated ones. */
static unsigned train(unsigned batches)
{
	unsigned repeated = 0;

	for (unsigned i = 0; i < batches; i++) {
		struct dsa_batch batch;

		assert_int_equal(dsa_next(loader, &batch), 1);
		repeated += batch.repeated;
		assert_int_equal(dsa_release(loader, &batch), 0);
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
	other->delivered = trace->processes[0].counters[TRACE_delivered_batches];
	atomic_store(other->to, other->value);
	return NULL;
}

static void play_along(struct other *other)
{
	assert_int_equal(pthread_create(&other->thread, NULL, play, other), 0);
}

static void nothing_is_measured_before_the_others_have_settled(void **state)
{
	struct trace_window *window = ask(TRACE_REAL, 0);

	(void)state;
	train(NEVER);
	assert_int_equal(window->progress, TRACE_SETTLED);
	assert_int_equal(window->state, TRACE_RUNNING);
	assert_int_equal(window->begin.time_ns, 0);
	trace->may_begin = 1;
	train(1);
	assert_true(window->begin.time_ns > 0);
	assert_true(window->begin.counters[TRACE_delivered_batches] == NEVER);
}

static void it_is_measured_until_the_others_have_enough(void **state)
{
	struct trace_window *window = ask(TRACE_SYNTHETIC, 0);

	(void)state;
	trace->may_begin = 1;
	train(NEVER);
	assert_int_equal(window->progress, TRACE_ENOUGH);
	assert_int_equal(window->state, TRACE_RUNNING);
	trace->may_end = 1;
	train(1);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, NEVER - window->settle);
	/* And goes on as it was, unmeasured, until there is a next one. */
	assert_int_equal(train(NEVER), NEVER);
	assert_int_equal(window->steps, NEVER - window->settle);
	assert_int_equal(trace->window_now, 1);
}

static void prep_goes_on_behind_a_loaded_window_that_is_over(void **state)
{
	struct trace_window *window = ask(TRACE_LOADED, 0);
	const _Atomic uint64_t *prepared =
		&trace->processes[0].counters[TRACE_prepared_samples];
	uint64_t end, deadline = clock_now() + 60000000000;

	(void)state;
	trace->may_begin = trace->may_end = 1;
	while (window->state != TRACE_DONE)
		train(1);
	end = window->end.counters[TRACE_prepared_samples];
	while (*prepared < end + 10 * BATCH && clock_now() < deadline)
		train(1);
	assert_true(*prepared >= end + 10 * BATCH);
}

static void the_first_batch_waits_for_the_first_window(void **state)
{
	struct other other = {.seen = &trace->driver,
			      .wanted = 1,
			      .to = &trace->window_count,
			      .value = 1};
	struct trace_window *window = ask(TRACE_SYNTHETIC, 0);

	(void)state;
	trace->window_count = 0;
	play_along(&other);
	assert_int_equal(train(1), 1);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.delivered, 0);
	assert_int_equal(window->state, TRACE_RUNNING);
}

static void what_another_does_alone_is_sat_out(void **state)
{
	struct trace_window *aside = ask(TRACE_PREP, TRACE_ASIDE);
	struct trace_window *after = ask(TRACE_SYNTHETIC, 0);
	struct other other = {.seen = &aside->progress,
			      .wanted = TRACE_ENOUGH,
			      .to = &trace->may_end,
			      .value = 1};

	(void)state;
	play_along(&other);
	assert_int_equal(train(1), 1);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.delivered, 0);
	assert_int_equal(aside->state, TRACE_REFUSED);
	assert_int_equal(aside->samples, 0);
	assert_int_equal(after->state, TRACE_RUNNING);
}

static void what_is_done_alone_waits_for_the_others_to_stand_back(void **state)
{
	struct trace_window *prep = ask(TRACE_PREP, 0);
	struct other other = {.seen = &prep->progress,
			      .wanted = TRACE_SETTLED,
			      .to = &trace->may_begin,
			      .value = 1};

	(void)state;
	prep->length_ns = 200000000;
	ask(TRACE_SYNTHETIC, 0);
	play_along(&other);
	train(1);
	pthread_join(other.thread, NULL);
	assert_int_equal(prep->state, TRACE_DONE);
	assert_true(prep->samples > 0);
	assert_true(prep->begin.time_ns > prep->switch_ns);
}

static void one_that_was_let_go_waits_for_nobody(void **state)
{
	struct trace_window *window = ask(TRACE_SYNTHETIC, 0);

	(void)state;
	train(NEVER);
	assert_int_equal(window->state, TRACE_RUNNING);
	trace->in_step = 0;
	train(NEVER);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(train(10), 0); /* the real thing again */
}

static void without_dsa_it_goes_on_alone(void **state)
{
	(void)state;
	ask(TRACE_SYNTHETIC, 0);
	trace->dsa_start++; /* nobody has that pid and that start */
	assert_int_equal(train(10), 0);
}

static void the_stop_flag_ends_a_wait(void **state)
{
	struct trace_window *aside = ask(TRACE_FETCH, TRACE_ASIDE);
	struct other other = {.seen = &aside->progress,
			      .wanted = TRACE_ENOUGH,
			      .to = &trace->stop,
			      .value = 1};
	struct dsa_batch batch;

	(void)state;
	play_along(&other);
	assert_int_equal(dsa_next(loader, &batch), 0);
	pthread_join(other.thread, NULL);
}

#define WITH_SESSION(test)                                                             \
	cmocka_unit_test_setup_teardown(test, make_session, drop_session)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_SESSION(nothing_is_measured_before_the_others_have_settled),
		WITH_SESSION(it_is_measured_until_the_others_have_enough),
		WITH_SESSION(prep_goes_on_behind_a_loaded_window_that_is_over),
		WITH_SESSION(the_first_batch_waits_for_the_first_window),
		WITH_SESSION(what_another_does_alone_is_sat_out),
		WITH_SESSION(what_is_done_alone_waits_for_the_others_to_stand_back),
		WITH_SESSION(one_that_was_let_go_waits_for_nobody),
		WITH_SESSION(without_dsa_it_goes_on_alone),
		WITH_SESSION(the_stop_flag_ends_a_wait),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("in_step", tests, NULL, NULL);
}
