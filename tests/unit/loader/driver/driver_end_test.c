/* driver_end_test.c - where the data of a session end, or it is none. */
#include "tests/lib/driven.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

TEST_WITH(the_stop_flag_ends_the_data, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_REAL);
	struct dsa_batch batch;

	window->length_ns = UINT64_MAX / 2;
	driven_open("");
	for (int i = 0; i < 20; i++) {
		assert_int_equal(dsa_next(driven.loader, &batch), 1);
		dsa_release(driven.loader, &batch);
	}
	atomic_store(&driven.trace->stop, 1);
	assert_int_equal(dsa_next(driven.loader, &batch), 0);
	assert_int_equal(window->state, TRACE_DONE);
	assert_true(window->steps > 0);
}

TEST_WITH(the_data_end_with_the_batch_that_reaches_the_samples, driven_setup,
	  driven_teardown)
{
	struct driven_audit audit = {0};
	struct dsa_batch batch;

	driven.trace->until_samples = 100;
	driven_open("");
	driven_train(NULL, &audit, 10000);
	assert_int_equal(audit.batches, 13);
	/* Nor does it begin again. */
	assert_int_equal(dsa_next(driven.loader, &batch), 0);
	assert_int_equal(driven.trace->stop, 0);
}

TEST_WITH(the_data_may_end_with_the_data_set, driven_setup, driven_teardown)
{
	struct driven_audit audit = {0};

	driven.trace->until_samples = 4096;
	driven.trace->until_once = 1;
	driven_open("");
	driven_train(NULL, &audit, 10000);
	assert_int_equal(audit.batches,
			 (DRIVEN_SAMPLES + DRIVEN_BATCH - 1) / DRIVEN_BATCH);
	for (unsigned i = 0; i < DRIVEN_SAMPLES; i++)
		assert_int_equal(audit.seen[i], 1);
}

/* As of a stream, which ends by itself or not. */
TEST_WITH(how_much_data_there_is_may_not_be_known, driven_setup, driven_teardown)
{
	struct trace *trace = driven.trace;

	trace->until_samples = 4096;
	trace->until_once = 1;
	trace->loader.dataset_samples = 0;
	assert_int_equal(trace_end(trace), 4096);
	trace->loader.dataset_samples = 100;
	assert_int_equal(trace_end(trace), 100);
}

TEST_WITH(without_dsa_the_program_goes_on_and_no_window_is_begun, driven_setup,
	  driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_SYNTHETIC);
	struct driven_audit audit = {0};

	driven.trace->dsa_start++; /* nobody has that pid and that start */
	driven_open("epochs=1");
	driven_train(NULL, &audit, 100000);
	assert_int_equal(window->state, TRACE_ASKED);
	for (unsigned i = 0; i < DRIVEN_SAMPLES; i++)
		assert_int_equal(audit.seen[i], 1);
}

TEST_WITH(a_session_of_another_version_is_refused_by_name, driven_setup,
	  driven_teardown)
{
	const struct dsa_config config = {.dataset = "synthetic:8"};
	char why[DSA_WHY], own[32];

	snprintf(own, sizeof(own), "this is version %d", TRACE_VERSION);
	driven.trace->version = 999;
	assert_true(dsa_open(&config, &driven.loader, why) < 0);
	assert_non_null(strstr(why, "version 999"));
	assert_non_null(strstr(why, own));
	driven.loader = NULL;
}
