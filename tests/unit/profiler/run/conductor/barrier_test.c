#include "profiler/run/conductor/barrier.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { JOBS = 3 };

#define SECOND UINT64_C(1000000000)

static struct barrier barrier;
static struct trace *traces[JOBS];

static int make_jobs(void **state)
{
	(void)state;
	barrier = (struct barrier){0};
	for (int i = 0; i < JOBS; i++) {
		traces[i] = session_new();
		if (traces[i] == NULL)
			return -1;
		barrier_join(&barrier, traces[i]);
	}
	return 0;
}

static int drop_jobs(void **state)
{
	(void)state;
	for (int i = 0; i < JOBS; i++)
		session_free(traces[i]);
	return 0;
}

static void ask_all(void)
{
	for (int i = 0; i < JOBS; i++)
		traces[i]->window_count++;
}

static struct trace_window *window(int job)
{
	return &traces[job]->windows[traces[job]->window_count - 1];
}

/* Who may begin, or end: a bit for each job. */
static unsigned passed(bool end)
{
	unsigned jobs = 0;

	barrier_pass(&barrier);
	for (int i = 0; i < JOBS; i++)
		jobs |= (end ? traces[i]->may_end : traces[i]->may_begin) ==
					traces[i]->window_count
				? 1u << i
				: 0;
	return jobs;
}

TEST_WITH(a_window_begins_where_all_have_settled, make_jobs, drop_jobs)
{
	ask_all();
	assert_int_equal(passed(false), 0);
	window(0)->progress = window(1)->progress = TRACE_SETTLED;
	assert_int_equal(passed(false), 0);
	window(2)->progress = TRACE_ENOUGH; /* it only sits there */
	assert_int_equal(passed(false), 7);
	assert_int_equal(passed(true), 0);
}

TEST_WITH(it_ends_where_all_have_enough, make_jobs, drop_jobs)
{
	ask_all();
	window(0)->progress = window(1)->progress = TRACE_ENOUGH;
	window(2)->progress = TRACE_SETTLED;
	assert_int_equal(passed(true), 0);
	window(2)->state = TRACE_REFUSED;
	assert_int_equal(passed(true), 7);
}

TEST_WITH(the_next_one_waits_for_all_to_be_over, make_jobs, drop_jobs)
{
	assert_true(barrier_over(&barrier)); /* nothing was asked for */
	traces[1]->first_request_ns = 0;
	assert_false(barrier_over(&barrier)); /* one has not begun */
	traces[1]->first_request_ns = 1;
	ask_all();
	window(0)->state = TRACE_DONE;
	window(1)->state = TRACE_REFUSED;
	window(2)->state = TRACE_RUNNING;
	assert_false(barrier_over(&barrier));
	window(2)->state = TRACE_DONE;
	assert_true(barrier_over(&barrier));
	ask_all();
	assert_false(barrier_over(&barrier));
	assert_int_equal(passed(false), 0);
}

TEST_WITH(one_that_left_is_not_waited_for, make_jobs, drop_jobs)
{
	ask_all();
	traces[1]->in_step = 1;
	window(0)->progress = window(2)->progress = TRACE_ENOUGH;
	assert_int_equal(passed(true), 0);
	barrier_leave(&barrier, 1);
	assert_int_equal(passed(true), 5);
	assert_int_equal(traces[1]->in_step, 0);
	assert_int_equal(barrier_first(&barrier), 0);
	barrier_leave(&barrier, 0);
	assert_int_equal(barrier_first(&barrier), 2);
	barrier_leave(&barrier, 2);
	assert_int_equal(barrier_first(&barrier), -1);
}

TEST_WITH(who_is_waited_for_without_a_sign_of_life_is_lost, make_jobs, drop_jobs)
{
	ask_all();
	window(0)->progress = window(2)->progress = TRACE_SETTLED;
	for (unsigned s = 1; s <= 10; s++)
		assert_int_equal(barrier_lost(&barrier, s * SECOND), -1);
	assert_int_equal(barrier_lost(&barrier, 12 * SECOND), 1);
	/* Reading ahead of a window is life enough. */
	traces[1]->processes[0].counters[TRACE_staged_samples]++;
	assert_int_equal(barrier_lost(&barrier, 13 * SECOND), -1);
}

TEST_WITH(who_waits_is_not_lost_however_long, make_jobs, drop_jobs)
{
	ask_all();
	window(0)->progress = TRACE_ENOUGH;
	for (unsigned s = 1; s <= 100; s++) {
		traces[1]->last_request_ns = traces[2]->last_request_ns = s;
		assert_int_equal(barrier_lost(&barrier, s * SECOND), -1);
	}
	window(1)->progress = window(2)->progress = TRACE_ENOUGH;
	assert_int_equal(barrier_lost(&barrier, 101 * SECOND), -1);
}

TEST_WITH(slow_ones_are_given_more_time, make_jobs, drop_jobs)
{
	ask_all();
	window(0)->progress = window(2)->progress = TRACE_SETTLED;
	barrier_lost(&barrier, SECOND);
	traces[1]->last_request_ns++;
	assert_int_equal(barrier_lost(&barrier, 9 * SECOND), -1);
	assert_int_equal(barrier_lost(&barrier, 40 * SECOND), -1);
	assert_int_equal(barrier_lost(&barrier, 42 * SECOND), 1);
}
