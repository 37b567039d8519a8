/*
 * follow_test.c - a loader that takes part in a run, a job that shares it, and what dsa
 * does meanwhile.
 */
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "loader/loader.h"
#include "profiler/run/conductor/barrier.h"
#include "profiler/session/merge_shared.h"
#include "tests/lib/driven.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serving.h"
#include "tests/lib/test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8 }; /* of the job; the loader's are twice as large */

static struct serving serving;
static struct trace *served, *job; /* sessions */
static struct dsa_loader *loader;
static struct barrier barrier;
static pthread_t dsa;

/* Windows to be asked for, and how many were. */
static const enum trace_kind *script;
static unsigned script_length;

/* Asks both for a window; the job sits out what the loader does alone. */
static void ask(enum trace_kind kind)
{
	const struct trace_window window = {.kind = kind,
					    .settle = 2,
					    .min_steps = 12,
					    .length_ns = kind == TRACE_PREP ? 200000000
									    : 20000000,
					    .stage = 80,
					    .block = UINT32_MAX};
	unsigned at = served->window_count;

	served->windows[at] = job->windows[at] = window;
	if (kind == TRACE_PREP)
		job->windows[at].flags = TRACE_ASIDE;
	atomic_store(&job->window_count, at + 1);
	atomic_store(&served->window_count, at + 1);
}

/* What the conductor does at every step. */
static void *conduct(void *context)
{
	(void)context;
	while (!atomic_load(&job->stop)) {
		merge_shared_turn(job, served);
		barrier_pass(&barrier);
		if (barrier_over(&barrier)) {
			if (served->window_count == script_length)
				atomic_store(&job->stop, 1);
			else
				ask(script[served->window_count]);
		}
		clock_sleep_until(clock_now() + 1000000);
	}
	return NULL;
}

static struct trace *session_of(const char *name)
{
	char path[512];
	struct trace *trace;

	snprintf(path, sizeof(path), "%s/%s", scratch_path(), name);
	trace = trace_create(path, 1, NULL);
	assert_non_null(trace);
	trace->in_step = 1;
	setenv("DSA_SESSION", path, 1);
	return trace;
}

static int begin(void **state)
{
	int result = scratch_setup(state);
	struct dsa_config config;
	char why[DSA_WHY] = "";

	setenv("XDG_CACHE_HOME", scratch_path(), 1);
	serving_init(&serving);
	serving.config.audit = NULL;
	served = session_of("served");
	if (result < 0 || !serving_start(&serving))
		return -1;
	job = session_of("job");
	config = serving.loader;
	config.batch = BATCH;
	config.share = "socket";
	if (dsa_open(&config, &loader, why) < 0)
		fail_msg("%s", why);
	unsetenv("DSA_SESSION");
	barrier = (struct barrier){0};
	barrier_join(&barrier, served);
	barrier_join(&barrier, job);
	return 0;
}

static int end(void **state)
{
	atomic_store(&served->stop, 1);
	dsa_close(loader);
	serving_join(&serving);
	trace_unmap(served);
	trace_unmap(job);
	return scratch_teardown(state);
}

/* The pipeline that it measures is the one that it began with. */
TEST_WITH(a_loader_that_is_led_takes_nothing_over, scratch_setup, scratch_teardown)
{
	setenv("XDG_CACHE_HOME", scratch_path(), 1);
	serving_init(&serving);
	serving.config.takeover = true;
	served = session_of("served");
	assert_false(serving_start(&serving));
	assert_non_null(strstr(serving.err.message, "leave out takeover"));
	unsetenv("DSA_SESSION");
	trace_unmap(served);
}

/* What came in each window, measured or not. */
struct got {
	unsigned batches, repeated;
};

/* Trains through the windows until dsa has seen enough. */
static void train(const enum trace_kind *kinds, unsigned count, struct got *got)
{
	struct dsa_batch batch;
	int result;

	script = kinds;
	script_length = count;
	assert_int_equal(pthread_create(&dsa, NULL, conduct, NULL), 0);
	while ((result = dsa_next(loader, &batch)) == 1) {
		struct got *window = &got[job->window_now - 1];

		window->batches++;
		window->repeated += batch.repeated;
		assert_int_equal(dsa_release(loader, &batch), 0);
	}
	pthread_join(dsa, NULL);
	assert_int_equal(result, 0);
	assert_int_equal(job->window_now, count);
}

TEST_WITH(each_window_s_batches_are_what_it_is_of, begin, end)
{
	static const enum trace_kind kinds[] = {TRACE_REAL,      TRACE_CACHED,
						TRACE_SYNTHETIC, TRACE_REAL,
						TRACE_SYNTHETIC, TRACE_CACHED};
	struct got got[6] = {{0}};

	train(kinds, 6, got);
	for (unsigned i = 0; i < 6; i++) {
		const struct trace_window *mine = &job->windows[i];
		const struct trace_window *its = &served->windows[i];
		bool synthetic = kinds[i] == TRACE_SYNTHETIC;

		assert_int_equal(mine->state, TRACE_DONE);
		assert_int_equal(its->state, TRACE_DONE);
		assert_true(mine->steps >= 12);
		if (kinds[i] != TRACE_CACHED) /* which may repeat what was staged */
			assert_int_equal(got[i].repeated,
					 synthetic ? got[i].batches : 0);
		if (synthetic)
			assert_int_equal(driven_counted(its, TRACE_prepared_samples),
					 0);
		else
			assert_true(driven_counted(its, TRACE_prepared_samples) > 0);
		if (kinds[i] == TRACE_REAL)
			assert_true(driven_counted(its, TRACE_fetched_samples) > 0);
		else
			assert_int_equal(driven_counted(its, TRACE_fetched_samples), 0);
	}
}

TEST_WITH(what_the_loader_does_alone_takes_no_batch, begin, end)
{
	static const enum trace_kind kinds[] = {TRACE_REAL, TRACE_PREP, TRACE_PREP,
						TRACE_CACHED};
	struct got got[4] = {{0}};

	train(kinds, 4, got);
	for (unsigned i = 1; i <= 2; i++) {
		assert_int_equal(job->windows[i].state, TRACE_REFUSED);
		assert_int_equal(served->windows[i].state, TRACE_DONE);
		assert_true(served->windows[i].samples > 0);
		assert_int_equal(got[i].batches, 0);
	}
	assert_int_equal(job->windows[3].state, TRACE_DONE);
}
