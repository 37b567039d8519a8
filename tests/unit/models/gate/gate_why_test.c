/* gate_why_test.c - the causes that a verdict names. */
#include "tests/lib/sides.h"
#include "tests/lib/test.h"

#include <string.h>

static void starts(const char *text, const char *with)
{
	if (strncmp(text, with, strlen(with)) != 0)
		fail_msg("'%s' does not start with '%s'", text, with);
}

TEST_WITH(small_reads_are_found_and_are_the_cause, sides_setup, sides_teardown)
{
	sides.base.about.counted.reads = 1000;
	sides.base.about.counted.read_bytes = 1000 * 128 << 10;
	sides.now.about.counted.reads = 32000;
	sides.now.about.counted.read_bytes = 1000 * 128 << 10;
	sides_add_both(&sides, .15, .005);
	for (size_t i = 0; i < 8; i++)
		sides.now.sessions[0].values[i][gate_metric_find("prep_stall")] -= .15;
	sides.now.about.busy.kept = true; /* that is in the repetitions' noise */
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides_status_is(&sides, "mean_read_bytes", GATE_REGRESSED);
	sides_status_is(&sides, "data_stall", GATE_REGRESSED);
	sides_status_is(&sides, "fetch_stall", GATE_INFORMS);
	says(sides.verdict.causes[0], "fetch stall +1");
	says(sides.verdict.causes[0], "mean read fell from 128 KiB to 4 KiB");
}

/* Which stage it was is only said where it is known. */
TEST_WITH(what_noise_moved_is_no_cause, sides_setup, sides_teardown)
{
	sides_add_both(&sides, .1, .005);
	for (size_t i = 0; i < 8; i++) {
		double(*values)[GATE_METRICS] = sides.now.sessions[0].values;
		double moved = i % 2 == 0 ? .5 : -.45;

		values[i][gate_metric_find("fetch_stall")] += moved;
		values[i][gate_metric_find("prep_stall")] -= moved;
	}
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides_status_is(&sides, "data_stall", GATE_REGRESSED);
	assert_int_equal(sides.verdict.cause_count, 0);
	starts(sides.verdict.why, "data_stall: ");
}

TEST_WITH(what_no_count_explains_is_told_by_its_metric, sides_setup, sides_teardown)
{
	sides_all_off(&sides);
	sides_limit(&sides, "cpu_s_per_sample", .05);
	sides_add_both(&sides, .2, .01);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	assert_int_equal(sides.verdict.cause_count, 0);
	starts(sides.verdict.why, "cpu_s_per_sample: ");
}

TEST_WITH(the_cause_comes_first, sides_setup, sides_teardown)
{
	sides_timed_off(&sides);
	sides.now.about.counted.opens++;
	sides.now.about.counted.reads++;
	sides_judge(&sides);
	assert_string_equal(sides.verdict.why,
			    "files opened or GETs per sample grew from 1 to "
			    "1.001 (opens_per_sample and 2 more)");
	assert_int_equal(sides.verdict.cause_count, 1);
}

/* Also where nothing came of them. */
TEST_WITH(settings_that_differ_are_told, sides_setup, sides_teardown)
{
	sides.base.about.batch = sides.now.about.batch = 32;
	sides.base.about.workers = 2;
	sides.now.about.workers = 1;
	sides_add_both(&sides, 0, .002);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_int_equal(sides.verdict.cause_count, 0);
	assert_int_equal(sides.verdict.setting_count, 1);
	starts(sides.verdict.settings[0], "workers fell from 2 to 1");
	sides_again(&sides);
	sides.base.about.batch = sides.now.about.batch = 32;
	sides.base.about.workers = 2;
	sides.now.about.workers = 1;
	sides_add_both(&sides, .2, .002);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	says(sides.verdict.why, "workers fell from 2 to 1");
	assert_int_equal(sides.verdict.setting_count, 0); /* once is enough */
}

TEST_WITH(what_got_faster_is_no_cause, sides_setup, sides_teardown)
{
	sides_timed_off(&sides);
	sides_limit(&sides, "decoded_pixels_per_sample", 1);
	sides.now.about.counted.opens++;
	sides.now.about.counted.decoded_pixels /= 2;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	assert_int_equal(sides.verdict.cause_count, 1);
	starts(sides.verdict.why, "files opened or GETs per sample grew");
	sides.now.about.counted.opens--;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_int_equal(sides.verdict.cause_count, 0);
}

TEST_WITH(large_changes_are_told_as_factors, sides_setup, sides_teardown)
{
	sides_timed_off(&sides);
	sides.now.about.counted.reads *= 27;
	sides_judge(&sides);
	says(sides_found(&sides, "reads_per_sample").why, ": 27 times worse, limit 0%");
}

/* Of two metrics one regresses twice: what the other would explain is not told. */
TEST_WITH(only_what_is_confirmed_is_explained, sides_setup, sides_teardown)
{
	struct gate_verdict before;

	sides_add_both(&sides, 0, .002);
	sides.now.about.counted.opens++;
	sides_judge(&sides);
	before = sides.verdict;
	sides.verdict = (struct gate_verdict){.count = 0};
	sides_again(&sides);
	sides_add_both(&sides, .2, .002);
	sides.now.about.counted.opens++;
	sides_judge(&sides);
	says(sides.verdict.causes[0], " stall +2");
	assert_int_equal(
		gate_verdict_confirm(&sides.verdict, &before, &sides.base, &sides.now),
		0);
	sides_outcome_is(&sides, GATE_REGRESSION);
	starts(sides.verdict.why, "files opened or GETs per sample grew");
	assert_int_equal(sides.verdict.cause_count, 1);
	gate_verdict_free(&before);
}

TEST_WITH(a_rate_that_fell_is_told_with_its_cause, sides_setup, sides_teardown)
{
	bool told = false;

	sides_all_off(&sides);
	sides_limit(&sides, "samples_per_s", .05);
	sides_add_both(&sides, .4, .005);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	for (size_t i = 0; i < sides.verdict.cause_count; i++)
		told |= strstr(sides.verdict.causes[i], "samples/s (") != NULL;
	assert_true(told);
}
