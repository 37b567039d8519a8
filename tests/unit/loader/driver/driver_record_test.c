/* driver_record_test.c - what is recorded of steps, samples and CPU time in windows. */
#include "loader/base/clock.h"
#include "tests/lib/driven.h"
#include "tests/lib/test.h"

#include <stdint.h>

TEST_WITH(step_records_fill_the_window_without_gaps, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_SYNTHETIC);
	struct driven_audit audit = {0};
	const struct trace_step *steps;
	uint64_t sum = 0;

	window->length_ns = 1;
	window->min_steps = 3000; /* more than there are records: they merge */
	driven_open("");
	driven_train(window, &audit, 10000);
	assert_int_equal(window->state, TRACE_DONE);
	assert_true(window->step_records <= TRACE_WINDOW_STEPS);
	steps = &driven.trace->steps[window->first_step];
	for (uint32_t i = 0; i < window->step_records; i++)
		sum += steps[i].steps;
	assert_int_equal(sum, window->steps);
	assert_int_equal(steps[window->step_records - 1].end_ns, window->end.time_ns);
	assert_true(driven.trace->dropped_steps == 0);
}

TEST_WITH(pauses_have_records_of_their_own_while_there_is_room, driven_setup,
	  driven_teardown)
{
	enum { STEPS = 2 * TRACE_WINDOW_STEPS, EACH = 256 };
	struct trace_window *window = driven_ask(TRACE_REAL);
	struct trace_step *steps = driven.trace->steps;
	struct dsa_batch batch;
	uint64_t pauses = 0;

	driven.trace->observe = 1;
	window->length_ns = UINT64_MAX;
	window->settle = 0;
	driven_open("");
	for (unsigned i = 0; i < STEPS; i++) {
		if (dsa_next(driven.loader, &batch) <= 0)
			fail_msg("the data ended");
		if (i % EACH == 0)
			clock_sleep_until(clock_now() + 2 * TRACE_PAUSE_NS);
		dsa_release(driven.loader, &batch);
	}
	assert_in_range(window->step_records, 1, TRACE_WINDOW_STEPS);
	for (uint32_t i = 0; i < window->step_records; i++)
		if (steps[i].longest_ns > 2 * TRACE_PAUSE_NS) {
			assert_int_equal(steps[i].steps, 1);
			pauses++;
		}
	assert_true(pauses >= STEPS / EACH); /* a busy machine has more */
}

TEST_WITH(some_samples_of_cached_windows_are_recorded, driven_setup, driven_teardown)
{
	struct trace_window *window = driven_ask(TRACE_CACHED);
	const struct trace_sample *samples;
	struct driven_audit audit = {0};

	window->min_steps = 400;
	window->length_ns = 0;
	driven_open("");
	driven_train(window, &audit, 10000);
	/* One of four of 402 batches, until the room ends. */
	assert_int_equal(window->sample_records, 512);
	samples = &driven.trace->samples[window->first_sample];
	for (unsigned i = 0; i < window->sample_records; i++) {
		assert_true(samples[i].batch >= window->settle);
		assert_int_equal(samples[i].batch % 4, 0);
		assert_true(samples[i].prep_ns > 0 && samples[i].bytes > 0);
		assert_int_equal(samples[i].fetch_ns, 0);
	}
	assert_true(driven.trace->dropped_samples == 0);
}

TEST_WITH(reads_one_at_a_time_are_recorded_evenly, driven_setup, driven_teardown)
{
	struct trace_window *one = driven_ask(TRACE_FETCH),
			    *two = driven_ask(TRACE_FETCH);
	struct trace_window *real = driven_ask(TRACE_REAL);
	const struct trace_sample *samples;
	struct driven_audit audit = {0};

	one->depth = 1;
	one->length_ns = two->length_ns = 300000000;
	driven_open("fetch_depth=2");
	driven_train(real, &audit, 10000);
	assert_int_equal(two->sample_records, 0);
	assert_in_range(one->sample_records, 1, 512);
	/* All, or spread over all: never fewer than half of the room. */
	assert_true(one->sample_records >= 256 || one->sample_records >= one->samples);
	samples = &driven.trace->samples[one->first_sample];
	for (unsigned i = 0; i < one->sample_records; i++) {
		assert_true(samples[i].fetch_ns > 0 && samples[i].bytes > 0);
		assert_int_equal(samples[i].window, 0);
	}
}

TEST_WITH(the_last_sample_s_cpu_time_counts_in_its_window, driven_setup,
	  driven_teardown)
{
	struct trace_window *prep = driven_ask(TRACE_PREP),
			    *real = driven_ask(TRACE_REAL);
	struct driven_audit audit = {0};
	uint64_t prepared, cpu_ns, prep_ns;

	prep->length_ns = 200000000;
	driven_open("prep_delay=20ms"); /* a few samples in each worker */
	driven_train(real, &audit, 10000);
	prepared = driven_counted(prep, TRACE_prepared_samples);
	cpu_ns = driven_counted(prep, TRACE_prep_cpu_ns);
	prep_ns = driven_counted(prep, TRACE_prep_ns);
	assert_true(prepared > 0);
	assert_true(cpu_ns > 1000 * prepared && cpu_ns < prep_ns);
}

TEST_WITH(paired_windows_prepare_each_sample_with_and_without_counting, driven_setup,
	  driven_teardown)
{
	struct trace_window *paired = driven_ask(TRACE_PREP),
			    *real = driven_ask(TRACE_REAL);
	struct driven_audit audit = {0};
	uint64_t bare, full, prepared;

	paired->flags = TRACE_PAIRED;
	paired->length_ns = 400000000;
	driven_open("");
	driven_train(real, &audit, 10000);
	bare = driven_counted(paired, TRACE_bare_cpu_ns);
	full = driven_counted(paired, TRACE_full_cpu_ns);
	prepared = driven_counted(paired, TRACE_prepared_samples);
	assert_int_equal(paired->state, TRACE_DONE);
	assert_true(prepared > 0 && bare > 0 && full > 0);
	assert_true(bare < 4 * full && full < 4 * bare); /* others may run beside */
	/* Each of the two counts as one that was prepared. */
	assert_true(10 * driven_counted(paired, TRACE_prep_cpu_ns) > 9 * (bare + full));
	assert_int_equal(prepared % 2, 0);
	assert_int_equal(driven_counted(real, TRACE_bare_cpu_ns), 0);
}
