#include "models/gate/gate_side.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct gate_side side;
static struct profile run;

static int setup(void **state)
{
	(void)state;
	gate_side_init(&side);
	profile_init(&run);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gate_side_free(&side);
	profile_free(&run);
	return 0;
}

static void close_to(double value, double want)
{
	if (!(fabs(value - want) <= 1e-12 * fmax(1, fabs(want))))
		fail_msg("%.15g is not %.15g", value, want);
}

static double value(size_t repetition, const char *name)
{
	assert_true(side.session_count == 1);
	assert_true(repetition < side.sessions[0].count);
	return side.sessions[0].values[repetition][gate_metric_find(name)];
}

static struct profile_window *add_window(int block, const char *kind, uint64_t samples,
					 double seconds)
{
	struct profile_window *window = profile_add_window(&run);

	assert_non_null(window);
	assert_int_equal(profile_word_set(&window->kind, profile_kinds, kind), 0);
	window->block = block;
	window->used = window->certified = true;
	window->samples = samples;
	window->per_s = (double)samples / seconds;
	window->cpu_s = 2 * seconds;
	return window;
}

/* 1 ms of compute, 3 of prep, 4 of fetch. */
static void add_block(int block)
{
	add_window(block, "synthetic", 1000, 1);
	add_window(block, "cached", 500, 2);
	add_window(block, "real", 250, 2);
}

TEST_WITH(block_is_a_repetition_with_the_shares_of_a_run, setup, teardown)
{
	assert_int_equal(profile_text(&run.started, "2026-01-02T03:04:05Z"), 0);
	add_block(0);
	add_block(7);
	assert_int_equal(gate_side_of_run(&side, &run), 0);
	assert_int_equal(side.session_count, 1);
	assert_string_equal(side.sessions[0].when, "2026-01-02T03:04:05Z");
	assert_int_equal(side.sessions[0].count, 2);
	for (size_t i = 0; i < 2; i++) {
		close_to(value(i, "fetch_stall"), .5);
		close_to(value(i, "prep_stall"), .375);
		close_to(value(i, "samples_per_s"), 125);
		close_to(value(i, "cpu_s_per_sample"), .016);
		assert_true(isnan(value(i, "opens_per_sample")));
	}
}

TEST_WITH(windows_of_a_kind_are_summed_before_they_are_divided, setup, teardown)
{
	add_block(0);
	add_block(1);
	add_window(0, "real", 750, 2);
	assert_int_equal(gate_side_of_run(&side, &run), 0);
	close_to(value(0, "samples_per_s"), 250);
	close_to(value(0, "fetch_stall"), 0);
	close_to(value(0, "cpu_s_per_sample"), .008);
	close_to(value(1, "samples_per_s"), 125);
}

TEST_WITH(only_certified_and_used_windows_of_a_block_count, setup, teardown)
{
	add_block(0);
	add_window(0, "real", 9, 9)->certified = false;
	add_window(0, "real", 9, 9)->used = false;
	add_window(0, "real", 9, 9)->samples = UNKNOWN;
	add_window(0, "real", 9, 9)->per_s = NAN;
	add_window(0, "loaded", 9, 9);
	add_window(-1, "real", 9, 9);
	add_window(-1, "cached", 9, 9);
	add_window(-1, "synthetic", 9, 9);
	add_window(1, "real", 9, 9);
	add_window(1, "cached", 9, 9);
	profile_add_window(&run)->block = 2;
	assert_int_equal(gate_side_of_run(&side, &run), 0);
	assert_int_equal(side.sessions[0].count, 1);
	close_to(value(0, "samples_per_s"), 125);
}

/* The search for blocks takes the square of their number. */
TEST_WITH(more_windows_than_a_session_holds_are_left_out, setup, teardown)
{
	for (int block = 0; block < 400; block++)
		add_block(block);
	assert_int_equal(gate_side_of_run(&side, &run), 0);
	assert_int_equal(side.sessions[0].count, 1024 / 3);
}

TEST_WITH(run_without_blocks_has_no_repetition, setup, teardown)
{
	assert_int_equal(gate_side_of_run(&side, &run), 0);
	assert_int_equal(side.session_count, 1);
	assert_int_equal(side.sessions[0].count, 0);
	assert_string_equal(side.sessions[0].when, "");
}

static void describe_run(struct profile *profile)
{
	struct profile_fact *fact = profile_add_fact(profile);

	assert_non_null(fact);
	assert_int_equal(profile_text(&fact->key, "cpu"), 0);
	assert_int_equal(profile_text(&fact->value, "EPYC 7763"), 0);
	assert_int_equal(profile_text(&profile->version, "0.1.0"), 0);
	assert_int_equal(profile_text(&profile->digest, "0123"), 0);
	profile->cache.id = CACHE_MINIO;
	profile->command = calloc(3, sizeof(*profile->command));
	assert_non_null(profile->command);
	assert_int_equal(profile_text(&profile->command[0], "train"), 0);
	assert_int_equal(profile_text(&profile->command[1], "--fast"), 0);
	profile->batch = 64;
	profile->cache_share = .35;
	profile->counted.samples = 100;
	profile->counted.opens = 200;
	profile->stalls[STAGE_FETCH].value = .5;
	profile->storage_is_memory = true;
}

TEST_WITH(description_is_a_copy_without_measurements, setup, teardown)
{
	describe_run(&run);
	assert_int_equal(gate_side_describe(&side, &run), 0);
	profile_free(&run);
	assert_string_equal(side.about.version, "0.1.0");
	assert_string_equal(side.about.digest, "0123");
	assert_int_equal(side.about.cache.id, CACHE_MINIO);
	assert_string_equal(side.about.command[1], "--fast");
	assert_null(side.about.command[2]);
	assert_int_equal(side.about.fact_count, 1);
	assert_string_equal(side.about.environment[0].value, "EPYC 7763");
	assert_int_equal(side.about.batch, 64);
	close_to(side.about.cache_share, .35);
	assert_int_equal(side.about.counted.opens, 200);
	assert_true(side.about.storage_is_memory);
	assert_true(isnan(side.about.stalls[STAGE_FETCH].value));
}

/* Timed repetitions count nothing. */
TEST_WITH(later_description_replaces_all_but_counts, setup, teardown)
{
	describe_run(&run);
	assert_int_equal(gate_side_describe(&side, &run), 0);
	profile_free(&run);
	assert_int_equal(profile_text(&run.digest, "4567"), 0);
	assert_int_equal(gate_side_describe(&side, &run), 0);
	assert_string_equal(side.about.digest, "4567");
	assert_false(profile_word_known(&side.about.cache));
	assert_null(side.about.command);
	assert_int_equal(side.about.fact_count, 0);
	assert_true(side.about.batch == UNKNOWN);
	assert_int_equal(side.about.counted.opens, 200);
}

TEST_WITH(counts_become_values_per_sample, setup, teardown)
{
	double values[GATE_METRICS];

	gate_metric_counted(&run, values);
	for (int i = 0; i < GATE_METRICS; i++)
		assert_true(isnan(values[i]));
	run.counted = (struct profile_counted){.samples = 1000,
					       .opens = 1001,
					       .reads = 4000,
					       .read_bytes = 4096000,
					       .hits = 350,
					       .decoded_pixels = UNKNOWN,
					       .skipped = 0,
					       .device_bytes = 3080000};
	gate_metric_counted(&run, values);
	close_to(values[gate_metric_find("device_bytes_per_sample")], 3080);
	close_to(values[gate_metric_find("opens_per_sample")], 1.001);
	close_to(values[gate_metric_find("reads_per_sample")], 4);
	close_to(values[gate_metric_find("read_bytes_per_sample")], 4096);
	close_to(values[gate_metric_find("mean_read_bytes")], 1024);
	close_to(values[gate_metric_find("hits_per_sample")], .35);
	close_to(values[gate_metric_find("skipped_samples")], 0);
	assert_true(isnan(values[gate_metric_find("decoded_pixels_per_sample")]));
	assert_true(isnan(values[gate_metric_find("samples_per_s")]));
	run.counted.samples = run.counted.reads = 0;
	gate_metric_counted(&run, values);
	assert_true(isnan(values[gate_metric_find("opens_per_sample")]));
	assert_true(isnan(values[gate_metric_find("mean_read_bytes")]));
}

TEST_WITH(no_memory_is_said_and_nothing_leaks, setup, teardown)
{
	unsigned failures = 0;

	describe_run(&run);
	add_block(0);
	add_block(1);
	for (unsigned nth = 1; nth < 20; nth++) {
		int result;

		nomem_at(nth);
		result = gate_side_of_run(&side, &run);
		nomem_at(0);
		gate_side_free(&side);
		if (result == 0)
			break;
		assert_int_equal(result, -ENOMEM);
		failures++;
	}
	assert_int_equal(failures, 4); /* command, session, repetitions */
}
