/*
 * hook_watch_test.c - a loader that the program iterates over: which of its batches and
 * reads count, and windows of whole rounds.
 */
#include "loader/base/clock.h"
#include "profiler/hook/hook.h"
#include "profiler/io/dsa_io.h"
#include "profiler/session/window.h"
#include "tests/lib/driven.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static struct watched {
	struct io_page *page;
	int source;
	uint64_t others_ns; /* time in I/O of other threads, a batch */
	uint32_t below;     /* batches of another process, for each */
	uint32_t flags;
} watched;

/* ---- in place of the preload ---- */

struct io_page *dsa_io_page(void)
{
	return watched.page;
}

struct io_page *dsa_io_first_page(void)
{
	return watched.page;
}

int dsa_io_rank(uint32_t rank)
{
	(void)rank;
	return 0;
}

int dsa_io_list_read(double share, uint64_t seed)
{
	(void)share;
	(void)seed;
	fail();
	return 0;
}

int dsa_io_list_evict(double share, uint64_t seed, uint64_t *bytes)
{
	*bytes = 0;
	return dsa_io_list_read(share, seed);
}

int dsa_io_list_resident(uint64_t *bytes, uint64_t *resident)
{
	*bytes = *resident = 0;
	return dsa_io_list_read(0, 0);
}

void dsa_io_list_clear(void)
{
	fail();
}

static void watched_record(uint32_t pid)
{
	uint64_t at = watched.page->batch_count;
	struct io_batch *batch = &watched.page->batches[at % IO_BATCHES];

	batch->begin_ns = clock_now();
	batch->end_ns = batch->begin_ns + 10;
	batch->io_ns = batch->own_io_ns = 5;
	batch->bytes = 100;
	batch->samples = DRIVEN_BATCH;
	batch->flags = watched.flags;
	batch->pid = pid;
	batch->number = at + 1;
	watched.page->batch_count = at + 1;
}

static void watched_make(void)
{
	watched_record((uint32_t)getpid());
	for (uint32_t i = 0; i < watched.below; i++)
		watched_record(1);
	watched.page->slots[0].counters[IO_io_ns] += 5 + watched.others_ns;
}

/* ---- in place of Python ---- */

static int watched_drain(void)
{
	return 0;
}

static int watched_list(uint32_t batches)
{
	(void)batches;
	return 0;
}

/* What is thrown away before a window is none of it, whoever reads it. */
static int watched_start(uint32_t source)
{
	watched.source = (int)source;
	watched.page->slots[0].counters[IO_io_ns] += 1000000;
	return 0;
}

static const struct hook_calls watched_calls = {.drain = watched_drain,
						.list = watched_list,
						.start = watched_start,
						.still = watched_drain};
static const struct hook_about watched_about = {
	.kind = TRACE_WATCH,
	.dataset = "generator",
	.source = "watch",
	.batch = DRIVEN_BATCH,
	.no_list = "what is watched",
};

static const struct trace_window *watched_run(enum trace_kind kind)
{
	struct trace_window *window = driven_ask(kind);

	window->block = 0;
	for (int i = 0; i < 100000 && window->state < TRACE_DONE; i++) {
		assert_int_equal(dsa_hook_request(clock_now()), 1);
		if (watched.source == HOOK_STREAM)
			watched_make();
		dsa_hook_delivered(DRIVEN_BATCH, 1);
	}
	assert_int_equal(window->state, TRACE_DONE);
	return window;
}

static int begin(void **state)
{
	if (driven_setup(state) < 0)
		return -1;
	watched = (struct watched){.page = calloc(1, sizeof(*watched.page)),
				   .source = HOOK_STREAM};
	return watched.page == NULL ? -1
				    : dsa_hook_open(&watched_about, &watched_calls);
}

static int end(void **state)
{
	dsa_hook_close();
	free(watched.page);
	return driven_teardown(state);
}

/* ---- tests ---- */

TEST_WITH(nothing_is_known_of_its_data, begin, end)
{
	const struct trace_loader *about = &driven.trace->loader;

	assert_int_equal(about->kind, TRACE_WATCH);
	assert_false(about->memory);
	assert_int_equal(about->dataset_bytes, 0);
}

TEST_WITH(what_the_asking_thread_reads_is_told, begin, end)
{
	const struct trace_window *real;

	real = watched_run(TRACE_REAL);
	assert_true(real->made.batches >= real->steps);
	assert_int_equal(real->batch_records, real->made.batches);
}

TEST_WITH(what_other_threads_read_is_not, begin, end)
{
	watched.others_ns = 1;
	assert_int_equal(watched_run(TRACE_REAL)->batch_records, 0);
}

TEST_WITH(what_no_call_shows_is_not, begin, end)
{
	watched.flags = IO_MAPPED;
	assert_int_equal(watched_run(TRACE_REAL)->batch_records, 0);
}

TEST_WITH(batches_of_a_loader_below_are_none, begin, end)
{
	const struct trace_window *real, *synthetic;

	watched.below = 2;
	real = watched_run(TRACE_REAL);
	assert_int_equal(real->made.batches, real->batch_records);
	assert_true(real->made.batches < watched.page->batch_count / 2);
	synthetic = watched_run(TRACE_SYNTHETIC);
	assert_int_equal(synthetic->made.batches, 0);
}

TEST_WITH(windows_are_of_the_rounds_that_it_turned_out_to_have, begin, end)
{
	dsa_hook_round(7);
	assert_int_equal(watched_run(TRACE_REAL)->steps % 7, 0);
	assert_int_equal(watched_run(TRACE_SYNTHETIC)->steps % 7, 0);
}

/* As when the program begins another pass there. */
TEST_WITH(steps_outside_are_outside_once, begin, end)
{
	struct trace_window *window = driven_ask(TRACE_REAL);
	uint64_t began = clock_now();

	window->block = 0;
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(dsa_hook_request(clock_now()), 1);
		dsa_hook_delivered(DRIVEN_BATCH, 1);
		dsa_hook_outside();
	}
	assert_int_equal(window->steps, 0);
	assert_true(window->outside_ns <= clock_now() - began);
}
