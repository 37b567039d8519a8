/* window_test.c - what the records and counters of a window say. */
#include "profiler/session/window.h"
#include "tests/lib/close_to.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BATCH = 32, STEPS = 10, SAMPLES = BATCH * STEPS };

static struct trace *trace;
static struct trace_window *raw;

/* A real window of which half of the samples were read. */
static int begin(void **state)
{
	const struct session_window half = {.kind = TRACE_REAL,
					    .steps = STEPS,
					    .samples = BATCH,
					    .step_ms = 20,
					    .prepared = SAMPLES,
					    .fetched = SAMPLES / 2};

	(void)state;
	trace = session_new();
	if (trace == NULL)
		return -1;
	raw = session_add(trace, &half);
	return 0;
}

static int end(void **state)
{
	(void)state;
	session_free(trace);
	return 0;
}

/* Bytes, more than such a window reads. */
static double read_more(void)
{
	struct window window;

	window_measure(trace, 0, &window);
	return window.covariate[WINDOW_READ];
}

/* Steps of 1 ms, of which every nth computes for so many more. */
static double outside_s(unsigned nth, unsigned more_ms)
{
	struct trace_step *steps = &trace->steps[raw->first_step];
	uint64_t at = steps[0].request_ns;
	struct window window;

	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t ms = i % nth == nth - 1 ? 1 + more_ms : 1;

		steps[i].request_ns = at;
		steps[i].end_ns = at += ms * 1000000;
		steps[i].blocked_ns = 900000;
		steps[i].longest_ns = ms * 1000000 - 900000;
	}
	window_measure(trace, 0, &window);
	return window.outside_s;
}

TEST_WITH(what_is_computed_once_for_several_batches_is_no_pause, begin, end)
{
	close_to(outside_s(4, 200), 0, 1e-9);
	close_to(outside_s(10, 200), .201, 1e-9); /* once: it may be anything */
}

TEST_WITH(a_drawn_window_reads_its_misses, begin, end)
{
	raw->flags = TRACE_DRAW;
	raw->hit = .5;
	close_to(read_more(), 0, 1e-6);
}

TEST_WITH(what_a_cache_that_never_evicts_holds_is_not_read, begin, end)
{
	uint64_t *capacity = &trace->loader.cache_capacity;

	strcpy(trace->loader.cache, "minio");
	*capacity = raw->begin.cache_bytes = trace->loader.dataset_bytes / 2;
	close_to(read_more(), 0, 1e-6);
	raw->begin.cache_bytes = *capacity * 8 / 10; /* it fills */
	assert_true(isnan(read_more()));
	*capacity = 2 * trace->loader.dataset_bytes; /* nothing more comes */
	raw->begin.cache_bytes = trace->loader.dataset_bytes;
	raw->end.counters[TRACE_fetched_bytes] = 0;
	close_to(read_more(), 0, 1e-6);
}

TEST_WITH(reads_that_the_loader_has_not_counted_yet_are_its_own, begin, end)
{
	struct trace_snapshot *then = &raw->end;
	struct window_calls calls;

	then->counters[TRACE_fetched_samples] = 10;
	then->counters[TRACE_fetched_bytes] = 1000000;
	then->program_reads = 4;
	then->program_bytes = 300000;
	assert_true(window_program_reads(raw, &calls));
	assert_int_equal(calls.reads, 0);
	then->program_bytes = 2000000;
	assert_true(window_program_reads(raw, &calls));
	assert_int_equal(calls.reads, 4);
	assert_int_equal(calls.bytes, 2000000);
	then->counters[TRACE_went_alone] = 1;
	assert_false(window_program_reads(raw, &calls));
}

TEST_WITH(bytes_that_became_fewer_are_not_known, begin, end)
{
	raw->begin.read_bytes = 5;
	raw->end.read_bytes = 1;
	assert_true(window_read_bytes(raw) == UINT64_MAX);
}

/* Of 10 there are 5 runs of 6, as many as the loader has slots. */
TEST_WITH(few_steps_bound_nothing_of_a_program_ahead_of_its_device, begin, end)
{
	struct window window;

	strcpy(trace->loader.device, "0");
	raw->made.devices = TRACE_AWAITED;
	window_measure(trace, 0, &window);
	assert_true(isinf(window.typical_ns));
}

/* Pairs of steps of 1 ms, of which the second computes for both; one of them pauses for 1 s. */
static void pause_in_pairs(void)
{
	struct trace_step *steps = &trace->steps[raw->first_step];
	uint64_t at = steps[0].request_ns;

	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t ms = i % 2 == 0 ? 1 : i == STEPS / 2 ? 1003 : 3;

		steps[i].request_ns = at;
		at += ms * 1000000;
		steps[i].end_ns = at;
		steps[i].blocked_ns = 1000000;
		steps[i].longest_ns = (ms - 1) * 1000000;
		steps[i].together = 2;
	}
}

TEST_WITH(a_pause_after_several_batches_is_outside, begin, end)
{
	struct trace_step *steps = &trace->steps[raw->first_step];
	struct window window;

	pause_in_pairs();
	window_measure(trace, 0, &window);
	close_to(window.outside_s, 1, 1e-6);
	close_to(window.seconds, STEPS * 2e-3, 1e-6);
	assert_int_equal(window.steps, STEPS);
	/* Merged, as they are where there are many. */
	for (uint32_t i = 0; i < STEPS / 2; i++) {
		struct trace_step pair = steps[2 * i + 1];

		pair.request_ns = steps[2 * i].request_ns;
		pair.blocked_ns += steps[2 * i].blocked_ns;
		pair.samples += steps[2 * i].samples;
		pair.steps = 2;
		steps[i] = pair;
	}
	raw->step_records = STEPS / 2;
	window_measure(trace, 0, &window);
	close_to(window.outside_s, 1, 1e-6);
	close_to(window.seconds, STEPS * 2e-3, 1e-6);
}

static bool emptied;

/* Of a thread that reads ahead, so many batches in all the run for 1000 backward passes; and so
 * many of these in a window, within so much of its time. */
static double trained_samples(unsigned apart, uint64_t batches, uint64_t passes,
			      double part)
{
	_Atomic uint64_t *all = trace->processes[0].counters;
	uint64_t length_ns = raw->end.time_ns - raw->begin.time_ns;
	struct window window;

	trace->driver = 1;
	trace->loader.apart = apart;
	trace->loader.batch = BATCH;
	all[TRACE_delivered_batches] = batches;
	all[TRACE_delivered_samples] = batches * BATCH;
	all[TRACE_backwards] = 1000;
	raw->end.counters[TRACE_backwards] = passes;
	raw->end.counters[TRACE_backward_ns] = (uint64_t)(part * (double)length_ns);
	window_measure(trace, 0, &window);
	emptied = window_empties_queue(&window);
	return window.samples;
}

TEST_WITH(what_fills_a_queue_was_not_trained_from, begin, end)
{
	close_to(trained_samples(TRACE_APART, 2060, 5, 1), SAMPLES, 1e-9);
	assert_false(emptied);
	close_to(trained_samples(TRACE_APART, 2060, 4, .8), SAMPLES, 1e-6);
	close_to(trained_samples(TRACE_QUEUED, 2060, 4, 1), SAMPLES - 2 * BATCH, 1e-6);
	close_to(trained_samples(TRACE_APART, 2060, 2, .5), SAMPLES - 2 * BATCH, 1e-6);
	assert_false(emptied);
	close_to(trained_samples(TRACE_APART, 2060, 8, 1), SAMPLES, 1e-9);
	assert_true(emptied); /* the rest was there before */
	close_to(trained_samples(TRACE_APART, 2060, 0, 0), SAMPLES, 1e-9);
	assert_false(emptied); /* training may be another process's */
	close_to(trained_samples(TRACE_NOT_APART, 2060, 2, 1), SAMPLES, 1e-9);
	close_to(trained_samples(TRACE_APART, 1400, 2, 1), 2 * 1.4 * BATCH, 1e-6);
	close_to(trained_samples(TRACE_APART, 700, 8, 1), 8 * .7 * BATCH, 1e-6);
	close_to(trained_samples(TRACE_APART, 540, 8, 1), 8 * .5 * BATCH, 1e-6);
}
