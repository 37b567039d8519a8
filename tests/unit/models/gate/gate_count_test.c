/* gate_count_test.c - metrics that are counted: what exceeds the limit is found. */
#include "tests/lib/close_to.h"
#include "tests/lib/sides.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Sets the count behind an exact metric to `times` what it was. */
static void scale(struct profile_counted *counted, const char *name, double times)
{
	uint64_t *opens = &counted->opens, *reads = &counted->reads;
	uint64_t *bytes = &counted->read_bytes, *pixels = &counted->decoded_pixels;
	uint64_t *one = strcmp(name, "opens_per_sample") == 0   ? opens
			: strcmp(name, "reads_per_sample") == 0 ? reads
			: strcmp(name, "hits_per_sample") == 0  ? &counted->hits
			: strcmp(name, "skipped_samples") == 0  ? &counted->skipped
			: strcmp(name, "device_bytes_per_sample") == 0
				? &counted->device_bytes
			: strcmp(name, "decoded_pixels_per_sample") == 0 ? pixels
									 : bytes;

	*one = (uint64_t)((double)*one * times);
}

static void exact_metric_has_a_direction(const char *name, double times)
{
	sides_all_off(&sides);
	sides_limit(&sides, name, .01);
	scale(&sides.now.about.counted, name, times);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides_status_is(&sides, name, GATE_REGRESSED);
	assert_true(sides_found(&sides, name).worse.value > .01);
	says(sides.verdict.why, name);
	scale(&sides.now.about.counted, name, 1 / times / times);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_IMPROVEMENT);
	assert_true(sides_found(&sides, name).worse.value < 0);
	says(sides_found(&sides, name).why, "better");
	scale(&sides.now.about.counted, name, times);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	close_to(sides_found(&sides, name).worse.value, 0, 0);
}

TEST_WITH(exact_metrics_have_a_direction, sides_setup, sides_teardown)
{
	exact_metric_has_a_direction("opens_per_sample", 2);
	exact_metric_has_a_direction("reads_per_sample", 2);
	exact_metric_has_a_direction("read_bytes_per_sample", 2);
	exact_metric_has_a_direction("mean_read_bytes", .5);
	exact_metric_has_a_direction("hits_per_sample", .5);
	exact_metric_has_a_direction("decoded_pixels_per_sample", 2);
	exact_metric_has_a_direction("skipped_samples", 2);
	sides.base.about.counted.device_bytes = 150536000;
	sides.now.about.counted.device_bytes = 150536000;
	exact_metric_has_a_direction("device_bytes_per_sample", 2);
}

TEST_WITH(one_open_more_in_a_thousand_is_found, sides_setup, sides_teardown)
{
	sides_add_both(&sides, 0, .2); /* whatever the noise */
	sides.now.about.counted.opens++;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides_status_is(&sides, "opens_per_sample", GATE_REGRESSED);
	says(sides_found(&sides, "opens_per_sample").why, "1.001, was 1");
	assert_true(sides.verdict.cause_count > 0);
	says(sides.verdict.causes[0],
	     "files opened or GETs per sample grew from 1 to 1.001");
	assert_null(sides.verdict.causes[sides.verdict.cause_count]);
}

TEST_WITH(exact_limits_are_kept_to_the_sample, sides_setup, sides_teardown)
{
	sides_timed_off(&sides);
	sides_limit(&sides, "opens_per_sample", .10);
	sides.now.about.counted.opens =
		1100; /* 1.1 / 1 - 1 is more than .1 in binary */
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	says(sides_found(&sides, "opens_per_sample").why, "within");
	sides.now.about.counted.opens++;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
}

TEST_WITH(first_of_its_kind_is_a_regression, sides_setup, sides_teardown)
{
	sides_timed_off(&sides);
	sides.base.about.counted.skipped = 0;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	assert_true(isnan(sides_found(&sides, "skipped_samples").worse.value));
	says(sides_found(&sides, "skipped_samples").why, "2, was 0");
	sides.base.about.counted.skipped = 2;
	sides.now.about.counted.skipped = 0;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_IMPROVEMENT);
}

TEST_WITH(reading_nothing_has_no_mean, sides_setup, sides_teardown)
{
	sides_timed_off(&sides);
	sides.now.about.counted.reads = sides.now.about.counted.read_bytes = 0;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_IMPROVEMENT);
	assert_null(sides_find(&sides, "mean_read_bytes"));
}

TEST_WITH(the_program_s_own_reads_decide_with_a_limit_alone, sides_setup,
	  sides_teardown)
{
	struct profile_counted *now = &sides.now.about.counted;

	sides_timed_off(&sides);
	sides_judge(&sides);
	assert_null(sides_find(&sides, "program_reads_per_sample"));
	now->program_reads = 1000;
	now->program_bytes = 4096000;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	sides_status_is(&sides, "program_reads_per_sample", GATE_INFORMS);
	close_to(sides_found(&sides, "program_reads_per_sample").now, 1, 0);
	close_to(sides_found(&sides, "program_bytes_per_sample").now, 4096, 0);
	says(sides_found(&sides, "program_bytes_per_sample").why, "info only");
	sides.base.about.counted.program_reads = UNKNOWN; /* of an earlier version */
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_null(sides_find(&sides, "program_reads_per_sample"));
	sides_limit(&sides, "program_reads_per_sample", .05);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides.base.about.counted.program_reads = 0;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides_status_is(&sides, "program_reads_per_sample", GATE_REGRESSED);
	says(sides.verdict.why, "the program's own reads per sample grew from none "
				"to 1");
	sides.base.about.counted.program_reads = 980;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	sides_status_is(&sides, "program_reads_per_sample", GATE_PASSED);
}

TEST_WITH(counts_of_other_samples_do_not_compare, sides_setup, sides_teardown)
{
	sides_timed_off(&sides);
	sides.now.about.counted.samples = 500;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "opens_per_sample", GATE_MISSING);
	says(sides_found(&sides, "opens_per_sample").why,
	     "over 500 samples, was over 1000");
	sides.now.about.counted.samples = 1000;
	sides.now.about.seed = 7;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	says(sides_found(&sides, "opens_per_sample").why, "seed draws other samples");
	sides.now.about.dataset_samples = 900; /* some of them twice */
	sides_judge(&sides);
	sides_status_is(&sides, "opens_per_sample", GATE_MISSING);
	sides.base.about.dataset_samples = 1000; /* all of them, in another order */
	sides.now.about.dataset_samples = 1000;
	sides_judge(&sides);
	sides_status_is(&sides, "opens_per_sample", GATE_PASSED);
	sides_status_is(&sides, "decoded_pixels_per_sample", GATE_MISSING);
	says(sides_found(&sides, "decoded_pixels_per_sample").why, "other crops");
	sides.base.about.seed = 7;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
}

/* Within an epoch nothing hits a cache that was empty. */
TEST_WITH(hits_that_could_not_be_are_not_passed, sides_setup, sides_teardown)
{
	struct profile *base = &sides.base.about, *now = &sides.now.about;

	sides_timed_off(&sides);
	base->counted.hits = now->counted.hits = 0;
	sides_judge(&sides); /* there is no cache: nothing to be seen */
	sides_status_is(&sides, "hits_per_sample", GATE_PASSED);
	base->cache.id = now->cache.id = CACHE_MINIO;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	sides_status_is(&sides, "hits_per_sample", GATE_INFORMS);
	assert_true(isnan(sides_found(&sides, "hits_per_sample").worse.value));
	says(sides_found(&sides, "hits_per_sample").why, "--samples=8192");
	says(sides.verdict.why, "a change of the cache is not seen");
	base->counted.hits = 1; /* it was there before */
	sides_judge(&sides);
	sides_status_is(&sides, "hits_per_sample", GATE_REGRESSED);
	base->counted.hits = 0;
	base->counted.samples = now->counted.samples = 3 * base->dataset_samples;
	sides_judge(&sides);
	sides_status_is(&sides, "hits_per_sample", GATE_PASSED);
}
