#include "profiler/session/merge_shared.h"
#include "profiler/session/window.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32 };

static struct trace *job, *loader;

static int make_sessions(void **state)
{
	(void)state;
	job = session_new();
	loader = session_new();
	return job != NULL && loader != NULL ? 0 : -1;
}

static int drop_sessions(void **state)
{
	(void)state;
	session_free(job);
	session_free(loader);
	return 0;
}

TEST_WITH(a_job_loads_what_the_loader_does_in_batches_of_its_own, make_sessions,
	  drop_sessions)
{
	job->loader.batch = 24;
	job->loader.emulated_per_s = 500;
	loader->loader.batch = 64;
	loader->loader.workers = 7;
	loader->loader.dataset_samples = 100;
	strcpy(loader->loader.dataset, "images/");
	merge_shared_describe(job, loader);
	assert_int_equal(job->loader.batch, 24);
	assert_int_equal(job->loader.steps_per_epoch, 5);
	assert_true(job->loader.emulated_per_s == 500);
	assert_int_equal(job->loader.workers, 7);
	assert_int_equal(job->loader.shared, 1);
	assert_string_equal(job->loader.dataset, "images/");
}

/* The same window in both: the job has steps, the loader reads and prepares. */
static void add_window(enum trace_kind kind, unsigned fetched, unsigned prepared)
{
	const struct session_window did = {
		.kind = kind, .block = 0, .steps = 10, .samples = BATCH, .step_ms = 20};
	const struct session_window worked = {.kind = kind,
					      .block = 0,
					      .steps = 1,
					      .step_ms = 200,
					      .fetched = fetched,
					      .prepared = prepared};

	session_add(job, &did);
	session_add(loader, &worked);
}

static bool certified(const char **why)
{
	static struct window window;

	window_measure(job, 0, &window);
	*why = window.why;
	return window.certified;
}

TEST_WITH(a_window_is_proven_by_what_the_loader_counted, make_sessions, drop_sessions)
{
	const char *why;

	add_window(TRACE_REAL, 320, 320);
	merge_shared_window(job, loader, 0, true);
	assert_true(certified(&why));
	assert_non_null(strstr(why, "for 320 misses"));
	assert_int_equal(window_counted(&job->windows[0], TRACE_prepared_samples), 320);
	assert_int_equal(job->windows[0].steps, 10);
}

TEST_WITH(synthetic_windows_in_which_the_loader_worked_are_void, make_sessions,
	  drop_sessions)
{
	const char *why;

	add_window(TRACE_SYNTHETIC, 0, 5);
	assert_true(certified(&why)); /* as far as the job itself knows */
	merge_shared_window(job, loader, 0, true);
	assert_false(certified(&why));
	assert_non_null(strstr(why, "5 prepared"));
}

TEST_WITH(what_the_loader_refused_counts_for_nobody, make_sessions, drop_sessions)
{
	const char *why;

	add_window(TRACE_CACHED, 0, 320);
	loader->windows[0].state = TRACE_REFUSED;
	merge_shared_window(job, loader, 0, false);
	assert_false(certified(&why));
}

TEST_WITH(what_the_loader_did_not_end_counts_for_nobody, make_sessions, drop_sessions)
{
	const char *why;

	add_window(TRACE_CACHED, 0, 320);
	job->windows[0].flags = TRACE_UNMERGED;
	assert_false(certified(&why)); /* dsa died before it could see */
	merge_shared_window(job, loader, 0, false);
	assert_true(certified(&why));
	loader->windows[0].state = TRACE_RUNNING;
	merge_shared_window(job, loader, 0, false);
	assert_false(certified(&why));
}

TEST_WITH(what_the_loader_does_alone_is_the_first_job_s, make_sessions, drop_sessions)
{
	const char *why;

	add_window(TRACE_PREP, 0, 700);
	loader->windows[0].samples = 700;
	job->windows[0].state = TRACE_REFUSED;
	job->windows[0].flags = TRACE_ASIDE;
	merge_shared_window(job, loader, 0, false);
	assert_int_equal(job->windows[0].state, TRACE_REFUSED);
	merge_shared_window(job, loader, 0, true);
	assert_int_equal(job->windows[0].state, TRACE_DONE);
	assert_int_equal(job->windows[0].flags, 0);
	assert_int_equal(job->windows[0].samples, 700);
	assert_true(certified(&why));
}

TEST_WITH(the_turn_is_passed_on_for_the_same_window, make_sessions, drop_sessions)
{
	merge_shared_turn(job, loader); /* no window yet */
	job->window_count = 2;
	loader->window_count = 1;
	loader->windows[0].turn = 8;
	merge_shared_turn(job, loader);
	assert_int_equal(job->windows[1].turn, 0);
	loader->window_count = 2;
	merge_shared_turn(job, loader);
	assert_int_equal(job->windows[1].turn, 0);
	loader->windows[1].turn = 9;
	merge_shared_turn(job, loader);
	assert_int_equal(job->windows[1].turn, 9);
	assert_int_equal(job->windows[0].turn, 0);
}

TEST_WITH(what_the_loader_asked_for_in_all_is_added, make_sessions, drop_sessions)
{
	struct trace_process *own = &job->processes[0];

	trace_add(own, TRACE_wanted_gets, 5); /* after it went alone */
	trace_add(own, TRACE_delivered_samples, 70);
	trace_add(&loader->processes[0], TRACE_wanted_gets, 100);
	trace_add(&loader->processes[0], TRACE_delivered_samples, 300);
	trace_add(&loader->processes[TRACE_PROCESSES - 1], TRACE_wanted_gets, 7);
	trace_add(&loader->processes[0], TRACE_retried_gets, 2);
	trace_add(&loader->processes[0], TRACE_listing_gets, 3);
	trace_add(&loader->processes[0], TRACE_disk_written, 4);
	merge_shared_totals(own, loader);
	assert_int_equal(own->counters[TRACE_wanted_gets], 112);
	assert_int_equal(own->counters[TRACE_retried_gets], 2);
	assert_int_equal(own->counters[TRACE_listing_gets], 3);
	assert_int_equal(own->counters[TRACE_disk_written], 4);
	assert_int_equal(own->counters[TRACE_delivered_samples], 70);
}
