/* schedule_requests_test.c - windows of data that servers have, within so many objects. */
#include "profiler/schedule/schedule_state.h"
#include "tests/lib/performer.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <stdint.h>
#include <string.h>

static bool
	on_disk; /* a cache there has all samples: fetch windows alone ask for them */

/* What the last window that was done asked for is seen at its end, and by dsa. */
static void count_gets(struct trace *trace)
{
	struct trace_window *window = &trace->windows[trace->window_now - 1];
	uint64_t fetched = window->end.counters[TRACE_fetched_samples] -
			   window->begin.counters[TRACE_fetched_samples];

	trace->processes[0]
		.counters[on_disk && window->kind != TRACE_FETCH ? TRACE_disk_samples
								 : TRACE_wanted_gets] +=
		fetched + window->staged;
	window->end.counters[TRACE_disk_samples] =
		trace->processes[0].counters[TRACE_disk_samples];
	window->end.counters[TRACE_wanted_gets] =
		trace->processes[0].counters[TRACE_wanted_gets];
}

/* Objects that the windows asked for. */
static uint64_t run_within(uint64_t most, enum schedule_step last, unsigned *windows)
{
	struct performer performer = performer_new(&performer_usual);
	struct trace *trace = performer.trace;
	enum schedule_step step;
	struct trace_window ask;
	uint64_t gets;

	trace->loader.remote = 1;
	trace->most_gets = most;
	do {
		step = schedule_next(performer.schedule, trace,
				     performer_elapsed(&performer), &ask);
		if (step == SCHEDULE_ASK) {
			trace->windows[trace->window_count++] = ask;
		} else if (step == SCHEDULE_WAIT) {
			performer_do(&performer);
			count_gets(trace);
		}
	} while (step == SCHEDULE_ASK || step == SCHEDULE_WAIT);
	assert_int_equal(step, last);
	gets = trace->processes[0].counters[TRACE_wanted_gets];
	*windows = trace->window_now;
	performer_free(&performer);
	return gets;
}

TEST(no_window_asks_for_more_than_there_are)
{
	unsigned windows = 0, before = 0;

	for (uint64_t most = 4000; most <= 16000; most *= 2) {
		assert_in_range(run_within(most, SCHEDULE_REQUESTS, &windows), 1, most);
		assert_true(windows > before);
		before = windows;
	}
}

TEST(enough_of_them_bound_nothing)
{
	unsigned windows, free;
	uint64_t gets;

	gets = run_within(0, SCHEDULE_DONE, &free);
	assert_int_equal(run_within(10 * gets, SCHEDULE_DONE, &windows), gets);
	assert_int_equal(windows, free);
}

/* 1,000 samples: the warm-up alone may take as many. */
TEST(one_epoch_is_as_many_as_the_data_has)
{
	unsigned windows;

	run_within(TRACE_ONE_EPOCH, SCHEDULE_REQUESTS, &windows);
	assert_in_range(windows, 1, 4);
}

TEST(what_a_cache_on_disk_has_is_not_asked_for)
{
	unsigned before, windows;

	run_within(TRACE_ONE_EPOCH, SCHEDULE_REQUESTS, &before);
	on_disk = true;
	run_within(TRACE_ONE_EPOCH, SCHEDULE_REQUESTS, &windows);
	on_disk = false;
	assert_true(windows > 5 * before);
}

/* Of 1,000 samples, of which it holds half. */
TEST(a_cache_is_filled_with_half_of_them_at_most)
{
	struct schedule *schedule = schedule_new(&performer_usual);
	struct trace *trace = session_new();

	strcpy(trace->loader.cache, "minio");
	trace->loader.cache_capacity = trace->loader.dataset_bytes / 2;
	trace->loader.remote = 1;
	trace->most_gets = 1001;
	assert_true(schedule_wants_fill(schedule, trace));
	trace->most_gets = 999;
	assert_false(schedule_wants_fill(schedule, trace));
	schedule_free(schedule);
	session_free(trace);
}
