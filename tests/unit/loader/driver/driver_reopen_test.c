/* driver_reopen_test.c - loaders of a program, one after another. */
#include "loader/base/clock.h"
#include "tests/lib/driven.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Closes the loader, and opens one anew. */
static void open_again(const char *settings)
{
	dsa_close(driven.loader);
	driven_open(settings);
}

TEST_WITH(a_loader_opened_anew_goes_on_driving, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL), *later;
	struct driven_audit audit = {0};
	struct dsa_stats stats;

	driven_open("");
	driven_train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	open_again("");
	later = driven_ask(TRACE_SYNTHETIC);
	audit = (struct driven_audit){0};
	driven_train(later, &audit, 10000);
	assert_int_equal(later->state, TRACE_DONE);
	assert_int_equal(driven.trace->driver, 1);
	assert_int_equal(driven.trace->driver_done, 0);
	dsa_stats(driven.loader, &stats);
	assert_int_equal(stats.batches, audit.batches); /* its own */
	assert_true(driven_counted(later, TRACE_delivered_samples) == later->samples);
}

TEST_WITH(windows_of_different_loaders_are_not_mixed, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL), *later;
	struct driven_audit audit = {0};

	driven_open("");
	driven_train(window, &audit, 10000);
	open_again("batch=4");
	later = driven_ask(TRACE_REAL);
	driven_train(later, &audit, 100);
	assert_int_equal(later->state, TRACE_ASKED);
	assert_int_equal(driven.trace->processes[1].counters[TRACE_delivered_batches],
			 100);
	open_again("");
	driven_train(later, &audit, 10000);
	assert_int_equal(later->state, TRACE_DONE);
	assert_int_equal(driven.trace->driver, 1);
}

TEST_WITH(any_loader_drives_while_nothing_was_measured, driven_setup, driven_teardown)
{
	struct trace_window *window;
	struct driven_audit audit = {0};

	driven_open("batch=4"); /* a first look at other data */
	driven_train(NULL, &audit, 2);
	open_again("");
	window = driven_ask(TRACE_REAL);
	driven_train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(driven.trace->loader.batch, DRIVEN_BATCH);
}

TEST_WITH(loaders_one_after_another_are_all_observed, driven_setup, driven_teardown)
{
	enum { LOADERS = TRACE_PROCESSES + 1, EACH = 5 };
	struct trace_window *window = driven_ask(TRACE_REAL);
	struct driven_audit audit = {0};

	driven.trace->observe = 1;
	window->length_ns = UINT64_MAX;
	window->settle = 0;
	for (int i = 0; i < LOADERS; i++) {
		open_again("");
		driven_train(NULL, &audit, EACH);
	}
	dsa_close(driven.loader);
	driven.loader = NULL;
	assert_int_equal(audit.batches, LOADERS * EACH);
	assert_int_equal(driven.trace->processes[0].counters[TRACE_delivered_batches],
			 LOADERS * EACH);
	assert_int_equal(driven.trace->loaders, 1);
	assert_int_equal(window->state, TRACE_DONE);
	assert_int_equal(window->steps, LOADERS * (EACH - 1)); /* the last has no end */
	assert_int_equal(driven.trace->window_now, 1);
}

TEST_WITH(what_passes_between_two_loaders_is_outside, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL);
	struct driven_audit audit = {0};
	uint64_t in_steps = 0;

	driven.trace->observe = 1;
	window->length_ns = UINT64_MAX;
	window->settle = 0;
	for (int i = 0; i < 3; i++) {
		open_again("");
		driven_train(NULL, &audit, 5);
		clock_sleep_until(clock_now() + 20000000);
	}
	dsa_close(driven.loader);
	driven.loader = NULL;
	for (uint32_t i = 0; i < window->step_records; i++)
		in_steps += driven.trace->steps[i].end_ns -
			    driven.trace->steps[i].request_ns;
	assert_true(window->outside_ns >= 40000000);
	assert_int_equal(in_steps + window->outside_ns,
			 window->end.time_ns - window->begin.time_ns);
}

/* The slot of a driver that closed says nothing about who has it next. */
TEST_WITH(a_loader_in_the_slot_of_a_former_driver_does_not_drive, driven_setup,
	  driven_teardown)
{
	struct trace_process *process = &driven.trace->processes[0];
	struct driven_audit audit = {0};
	struct dsa_loader *second;

	driven_open("");
	driven_train(NULL, &audit, 2);
	dsa_close(driven.loader);
	process->pid = 1; /* another program's */
	driven_open("");
	driven_train(NULL, &audit, 2);
	assert_int_equal(driven.trace->driver, 2);
	second = driven.loader;
	process->pid = (uint32_t)getpid();
	driven_open("");
	driven_train(NULL, &audit, 2);
	assert_int_equal(process->closed, 0);
	assert_int_equal(driven.trace->driver, 2);
	assert_int_equal(driven.trace->loaders, 3);
	dsa_close(second);
}

/* Opens a loader of data without one good sample, and waits until it knows. */
static void open_broken(const char *folder)
{
	struct driven_audit audit = {0};
	char settings[TREE_PATH + 16];

	snprintf(settings, sizeof(settings), "dataset=%s", folder);
	driven_open(settings);
	driven_train(NULL, &audit, 1);
	assert_int_equal(audit.batches, 0);
}

TEST_WITH(what_was_skipped_is_told_of_the_loader_of_that_data, driven_setup,
	  driven_teardown)
{
	struct trace_process *processes = driven.trace->processes;
	struct trace_skip *skips = driven.trace->skips;
	char broken[TREE_PATH];
	struct dsa_loader *first;

	tree_make(broken);
	tree_put(broken, "/a/empty.jpg", "");
	open_broken(broken); /* a first look at other data */
	assert_int_equal(skips[0].slot, 1);
	open_again("");
	driven_train(NULL, &(struct driven_audit){0}, 2);
	assert_int_equal(driven.trace->driver, 1);
	assert_int_equal(skips[0].slot, 0);
	assert_int_equal(processes[0].counters[TRACE_skipped_samples], 1);
	assert_int_equal(processes[0].skipped_before, 1);
	first = driven.loader;
	open_broken(broken); /* beside it */
	assert_int_equal(driven.trace->driver, 1);
	assert_int_equal(skips[1].slot, 2);
	dsa_close(first);
	tree_remove(broken);
}
