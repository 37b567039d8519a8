#include "models/gate/gate_statistics.h"
#include "tests/lib/close_to.h"
#include "tests/lib/nomem.h"
#include "tests/lib/sides.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct sides sides;

static int setup(void **state)
{
	(void)state;
	sides_begin(&sides);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sides_end(&sides);
	return 0;
}

static void starts(const char *text, const char *with)
{
	if (strncmp(text, with, strlen(with)) != 0)
		fail_msg("'%s' does not start with '%s'", text, with);
}

static void same_code_passes(void **state)
{
	(void)state;
	sides_add_both(&sides, 0, .01);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_int_equal(sides.verdict.count, GATE_METRICS - 1);
	for (size_t i = 0; i < sides.verdict.count; i++)
		sides_status_is(&sides, sides.verdict.findings[i].name, GATE_PASSED);
	assert_int_equal(sides.verdict.base_repetitions, 8);
	assert_int_equal(sides.verdict.repetitions, 8);
	assert_int_equal(sides.verdict.cause_count, 0);
	assert_null(sides.verdict.causes);
	assert_null(sides.verdict.mismatches);
	says(sides.verdict.why, "10 of 10");
}

/* Sets the count behind an exact metric to `times` what it was. */
static void scale(struct profile_counted *counted, const char *name, double times)
{
	uint64_t *opens = &counted->opens, *reads = &counted->reads;
	uint64_t *bytes = &counted->read_bytes, *pixels = &counted->decoded_pixels;
	uint64_t *one = strcmp(name, "opens_per_sample") == 0   ? opens
			: strcmp(name, "reads_per_sample") == 0 ? reads
			: strcmp(name, "hits_per_sample") == 0  ? &counted->hits
			: strcmp(name, "skipped_samples") == 0  ? &counted->skipped
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
	sides_outcome_is(&sides, GATE_PASS);
	assert_true(sides_found(&sides, name).worse.value < 0);
	says(sides_found(&sides, name).why, "better");
	scale(&sides.now.about.counted, name, times);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	close_to(sides_found(&sides, name).worse.value, 0, 0);
}

static void exact_metrics_have_a_direction(void **state)
{
	(void)state;
	exact_metric_has_a_direction("opens_per_sample", 2);
	exact_metric_has_a_direction("reads_per_sample", 2);
	exact_metric_has_a_direction("read_bytes_per_sample", 2);
	exact_metric_has_a_direction("mean_read_bytes", .5);
	exact_metric_has_a_direction("hits_per_sample", .5);
	exact_metric_has_a_direction("decoded_pixels_per_sample", 2);
	exact_metric_has_a_direction("skipped_samples", 2);
}

/* A rate that falls is found as a stall that grows is, paired or not. */
static void timed_metrics_have_a_direction(void **state)
{
	static const char *const names[] = {"fetch_stall", "prep_stall",
					    "cpu_s_per_sample", "samples_per_s"};

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		sides_end(&sides);
		sides_begin(&sides);
		sides.config.paired = i < 4;
		sides_all_off(&sides);
		sides_limit(&sides, names[i % 4], .05);
		for (unsigned session = 0; session < GATE_SESSIONS; session++)
			sides_add_session(&sides, &sides.base, 8, 0, .002);
		sides_add_session(&sides, &sides.now, 8, .10, .002);
		sides_judge(&sides);
		sides_outcome_is(&sides, GATE_REGRESSION);
		sides_status_is(&sides, names[i % 4], GATE_REGRESSED);
		close_to(sides_found(&sides, names[i % 4]).worse.value, .10, .01);
		says(sides.verdict.why, names[i % 4]);
		says(sides_found(&sides, names[i % 4]).why, " worse, at least");
		sides_add_session(&sides, &sides.now, 8, -.05, .002);
		sides_judge(&sides);
		sides_outcome_is(&sides, GATE_PASS);
		close_to(sides_found(&sides, names[i % 4]).worse.value, -.05, .01);
		says(sides_found(&sides, names[i % 4]).why, "no worse");
	}
}

static void change_is_measured_from_good_to_bad(void **state)
{
	const struct gate_metric *rate =
		&gate_metrics[gate_metric_find("samples_per_s")];
	const struct gate_metric *cpu =
		&gate_metrics[gate_metric_find("cpu_s_per_sample")];
	const struct gate_metric *stall =
		&gate_metrics[gate_metric_find("fetch_stall")];

	(void)state;
	close_to(gate_metric_worse(rate, 1000, 800), .25, 1e-12);
	close_to(gate_metric_worse(rate, 800, 1000), -.2, 1e-12);
	close_to(gate_metric_worse(cpu, 2, 3), .5, 1e-12);
	close_to(gate_metric_worse(stall, .1, -.02), -.12, 1e-12);
	close_to(gate_metric_worse(cpu, 0, 0), 0, 0);
	assert_true(isnan(gate_metric_worse(cpu, 0, 1)));
	assert_true(isnan(gate_metric_worse(rate, 1, 0)));
	close_to(gate_metric_worse(cpu, 1, 0), -1, 0);
	assert_true(isnan(gate_metric_worse(cpu, NAN, 1)));
	assert_true(isnan(gate_metric_worse(stall, 0, NAN)));
	assert_int_equal(gate_metric_find("samples_per_second"), -1);
}

static void one_open_more_in_a_thousand_is_found(void **state)
{
	(void)state;
	sides_add_both(&sides, 0, .2); /* whatever the noise */
	sides.now.about.counted.opens++;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides_status_is(&sides, "opens_per_sample", GATE_REGRESSED);
	says(sides_found(&sides, "opens_per_sample").why, "1.001, was 1");
	assert_true(sides.verdict.cause_count > 0);
	says(sides.verdict.causes[0], "files opened per sample grew from 1 to 1.001");
	assert_null(sides.verdict.causes[sides.verdict.cause_count]);
}

static void small_reads_are_found_and_are_the_cause(void **state)
{
	(void)state;
	sides.base.about.counted.reads = 1000;
	sides.base.about.counted.read_bytes = 1000 * 128 << 10;
	sides.now.about.counted.reads = 32000;
	sides.now.about.counted.read_bytes = 1000 * 128 << 10;
	sides_add_both(&sides, .15, .005);
	for (size_t i = 0; i < 8; i++)
		sides.now.sessions[0].values[i][gate_metric_find("prep_stall")] -= .15;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides_status_is(&sides, "mean_read_bytes", GATE_REGRESSED);
	sides_status_is(&sides, "fetch_stall", GATE_REGRESSED);
	says(sides.verdict.causes[0], "fetch stall +1");
	says(sides.verdict.causes[0], "mean read fell from 128 KiB to 4 KiB");
}

static void exact_limits_are_kept_to_the_sample(void **state)
{
	(void)state;
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

static void first_of_its_kind_is_a_regression(void **state)
{
	(void)state;
	sides_timed_off(&sides);
	sides.base.about.counted.skipped = 0;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	assert_true(isnan(sides_found(&sides, "skipped_samples").worse.value));
	says(sides_found(&sides, "skipped_samples").why, "2, was 0");
	sides.base.about.counted.skipped = 2;
	sides.now.about.counted.skipped = 0;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
}

static void reading_nothing_has_no_mean(void **state)
{
	(void)state;
	sides_timed_off(&sides);
	sides.now.about.counted.reads = sides.now.about.counted.read_bytes = 0;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_null(sides_find(&sides, "mean_read_bytes"));
}

static void counts_of_other_samples_do_not_compare(void **state)
{
	(void)state;
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

static void missing_is_never_a_pass(void **state)
{
	(void)state;
	sides_add_both(&sides, 0, .01);
	sides.now.about.counted.opens = UNKNOWN;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "opens_per_sample", GATE_MISSING);
	says(sides.verdict.why, "missing opens_per_sample");
	sides.base.about.counted.opens = UNKNOWN; /* what nobody has nobody misses */
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_null(sides_find(&sides, "opens_per_sample"));
	sides_limit(&sides, "opens_per_sample", 0); /* but who asks for it */
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	says(sides_found(&sides, "opens_per_sample").why, "neither");
	sides.now.about.counted.opens = 1000;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	says(sides_found(&sides, "opens_per_sample").why, "the base does not have it");
	sides_limit(&sides, "opens_per_sample", INFINITY);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
}

static void missing_repetitions_are_never_a_pass(void **state)
{
	(void)state;
	sides_add_session(&sides, &sides.base, 8, 0, .01);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "fetch_stall", GATE_MISSING);
	sides_status_is(&sides, "samples_per_s", GATE_MISSING);
	sides.config.paired = false;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
}

static void repetitions_without_a_number_do_not_count(void **state)
{
	int metric = gate_metric_find("prep_stall");

	(void)state;
	sides_add_both(&sides, 0, .01);
	for (size_t i = 0; i < 5; i++)
		sides.now.sessions[0].values[i][metric] = NAN;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "prep_stall", GATE_UNDECIDED);
	says(sides_found(&sides, "prep_stall").why, "too few");
	assert_true(isnan(sides_found(&sides, "prep_stall").detectable));
	sides_status_is(&sides, "fetch_stall", GATE_PASSED);
	for (size_t i = 5; i < 8; i++)
		sides.now.sessions[0].values[i][metric] = NAN;
	sides_judge(&sides);
	sides_status_is(&sides, "prep_stall", GATE_MISSING);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
}

static void comparing_nothing_is_never_a_pass(void **state)
{
	(void)state;
	sides_all_off(&sides);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	assert_int_equal(sides.verdict.count, 0);
	says(sides.verdict.why, "nothing was compared");
}

static void telling_only_is_never_a_pass(void **state)
{
	(void)state;
	sides_add_both(&sides, 0, .01);
	sides_all_off(&sides);
	sides_limit(&sides, "samples_per_s", .10);
	sides.config.paired = false;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "samples_per_s", GATE_INFORMS);
	says(sides.verdict.why, "nothing that was compared decides");
}

static void what_can_not_be_told_is_undecided(void **state)
{
	(void)state;
	sides_add_both(&sides, .05, .03);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "fetch_stall", GATE_UNDECIDED);
	says(sides_found(&sides, "fetch_stall").why, "can't tell");
	assert_true(sides_found(&sides, "fetch_stall").detectable > 0);
	assert_true(sides_found(&sides, "fetch_stall").worse.low < .05);
	assert_true(sides_found(&sides, "fetch_stall").worse.high > .05);
}

/* p of 8 pairs of which the 1st and the 2nd by size are better: 5 in 256. */
static void several_at_once_need_more_evidence_than_one(void **state)
{
	int metric = gate_metric_find("fetch_stall");

	(void)state;
	sides_add_both(&sides, 0, 0);
	for (int i = 0; i < 8; i++)
		sides.now.sessions[0].values[i][metric] +=
			i < 2 ? -.0001 * (i + 1) : .01 + .0001 * i;
	sides_limit(&sides, "fetch_stall", 0);
	sides_judge(&sides);
	assert_true(sides_found(&sides, "fetch_stall").worse.low > 0);
	close_to(sides_found(&sides, "fetch_stall").p, 15. / 256, 1e-12);
	sides_status_is(&sides, "fetch_stall", GATE_UNDECIDED);
	says(sides_found(&sides, "fetch_stall").why, "p 0.059");
	sides_limit(&sides, "prep_stall", INFINITY);
	sides_limit(&sides, "samples_per_s", INFINITY);
	sides_judge(&sides);
	close_to(sides_found(&sides, "fetch_stall").p, 5. / 256, 1e-12);
	sides_status_is(&sides, "fetch_stall", GATE_REGRESSED);
}

static void regression_goes_before_what_is_undecided(void **state)
{
	(void)state;
	sides_add_both(&sides, .05, .03);
	sides.now.about.counted.hits = 0;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	says(sides.verdict.why, "hits_per_sample");
}

static void identical_repetitions_pass(void **state)
{
	(void)state;
	sides_add_both(&sides, 0, 0);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	close_to(sides_found(&sides, "samples_per_s").detectable, 0, 1e-9);
}

static void only_the_last_session_is_paired(void **state)
{
	(void)state;
	sides_add_session(&sides, &sides.base, 8, .5, .01);
	sides_add_session(&sides, &sides.now, 8, .9, .01);
	sides_add_both(&sides, 0, .01);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_int_equal(sides.verdict.base_repetitions, 8);
	/* Of their noise, not of what the sessions differ by. */
	assert_true(sides_found(&sides, "samples_per_s").floor < .05);
}

static void as_many_as_a_test_takes_are_compared(void **state)
{
	(void)state;
	sides.config.paired = false;
	sides_add_session(&sides, &sides.base, 200, 9, .01);
	for (unsigned i = 0; i < 5; i++)
		sides_add_session(&sides, &sides.base, 12, 0, .002);
	sides_add_session(&sides, &sides.now, 200, 0, .002);
	sides_judge(&sides);
	assert_int_equal(sides.verdict.base_repetitions, 60);
	assert_int_equal(sides.verdict.repetitions, GATE_PAIRS_MOST);
	assert_int_equal(sides.verdict.base_sessions, 6);
	close_to(sides_found(&sides, "samples_per_s").base, 1000, 5);
	sides_add_session(&sides, &sides.base, 200, 0, .002);
	sides_judge(&sides);
	assert_int_equal(sides.verdict.base_repetitions, GATE_PAIRS_MOST);
}

static void what_no_count_explains_is_told_by_its_metric(void **state)
{
	(void)state;
	sides_all_off(&sides);
	sides_limit(&sides, "cpu_s_per_sample", .05);
	sides_add_both(&sides, .2, .01);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	assert_int_equal(sides.verdict.cause_count, 0);
	starts(sides.verdict.why, "cpu_s_per_sample: ");
}

static void the_cause_comes_first(void **state)
{
	(void)state;
	sides_timed_off(&sides);
	sides.now.about.counted.opens++;
	sides.now.about.counted.reads++;
	sides_judge(&sides);
	assert_string_equal(sides.verdict.why, "files opened per sample grew from 1 to "
					       "1.001 (opens_per_sample and 2 more)");
	assert_int_equal(sides.verdict.cause_count, 1);
}

static void what_got_faster_is_no_cause(void **state)
{
	(void)state;
	sides_timed_off(&sides);
	sides_limit(&sides, "decoded_pixels_per_sample", 1);
	sides.now.about.counted.opens++;
	sides.now.about.counted.decoded_pixels /= 2;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	assert_int_equal(sides.verdict.cause_count, 1);
	starts(sides.verdict.why, "files opened per sample grew");
	sides.now.about.counted.opens--;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_int_equal(sides.verdict.cause_count, 0);
}

static void large_changes_are_told_as_factors(void **state)
{
	(void)state;
	sides_timed_off(&sides);
	sides.now.about.counted.reads *= 27;
	sides_judge(&sides);
	says(sides_found(&sides, "reads_per_sample").why, ": 27 times worse, limit 0%");
}

/* Of two metrics one regresses twice: what the other would explain is not told. */
static void only_what_is_confirmed_is_explained(void **state)
{
	struct gate_verdict before;

	(void)state;
	sides_add_both(&sides, 0, .002);
	sides.now.about.counted.opens++;
	sides_judge(&sides);
	before = sides.verdict;
	sides.verdict = (struct gate_verdict){.count = 0};
	sides_again(&sides);
	sides_add_both(&sides, .2, .002);
	sides.now.about.counted.opens++;
	sides_judge(&sides);
	starts(sides.verdict.causes[0], "fetch stall +20");
	assert_int_equal(
		gate_verdict_confirm(&sides.verdict, &before, &sides.base, &sides.now),
		0);
	sides_outcome_is(&sides, GATE_REGRESSION);
	starts(sides.verdict.why, "files opened per sample grew");
	assert_int_equal(sides.verdict.cause_count, 1);
	gate_verdict_free(&before);
}

/* A verdict of its own for each measurement; the second is kept in sides. */
static void confirm(double first, double second)
{
	struct gate_verdict before;

	sides_again(&sides);
	sides_add_both(&sides, first, .005);
	sides_judge(&sides);
	before = sides.verdict;
	sides.verdict = (struct gate_verdict){.count = 0};
	sides_again(&sides);
	sides_add_both(&sides, second, .005);
	sides_judge(&sides);
	assert_int_equal(
		gate_verdict_confirm(&sides.verdict, &before, &sides.base, &sides.now),
		0);
	gate_verdict_free(&before);
}

static void only_what_regresses_twice_is_confirmed(void **state)
{
	(void)state;
	confirm(.2, .2);
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides_status_is(&sides, "prep_stall", GATE_REGRESSED);
	confirm(.2, 0);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "prep_stall", GATE_UNDECIDED);
	sides_status_is(&sides, "opens_per_sample", GATE_PASSED);
	confirm(0, .2);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "prep_stall", GATE_UNDECIDED);
	confirm(0, 0);
	sides_outcome_is(&sides, GATE_PASS);
}

static void names_are_what_files_say(void **state)
{
	(void)state;
	assert_string_equal(gate_tier_name(GATE_EXACT), "exact");
	assert_string_equal(gate_tier_name(GATE_RATE), "rate");
	assert_string_equal(gate_status_name(GATE_PASSED), "pass");
	assert_string_equal(gate_status_name(GATE_INFORMS), "informs");
	assert_string_equal(gate_outcome_name(GATE_PASS), "pass");
	assert_string_equal(gate_outcome_name(GATE_MISMATCH), "mismatch");
}

static void no_memory_is_said_and_nothing_leaks(void **state)
{
	unsigned failures = 0;

	(void)state;
	sides.config.paired = false;
	sides_add_both(&sides, .2, .01);
	sides.now.about.counted.opens++;
	sides_add_fact(&sides.now, "cpu_quota", "1");
	sides.config.any_environment = true;
	for (unsigned nth = 1; nth < 200; nth++) {
		int result;

		nomem_at(nth);
		result = gate_judge(&sides.config, &sides.base, &sides.now,
				    &sides.verdict, NULL);
		nomem_at(0);
		gate_verdict_free(&sides.verdict);
		if (result == 0)
			break;
		assert_int_equal(result, -ENOMEM);
		failures++;
	}
	assert_true(failures > 10 && failures < 190);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(same_code_passes),
		TEST(exact_metrics_have_a_direction),
		TEST(timed_metrics_have_a_direction),
		TEST(change_is_measured_from_good_to_bad),
		TEST(one_open_more_in_a_thousand_is_found),
		TEST(the_cause_comes_first),
		TEST(what_got_faster_is_no_cause),
		TEST(large_changes_are_told_as_factors),
		TEST(small_reads_are_found_and_are_the_cause),
		TEST(exact_limits_are_kept_to_the_sample),
		TEST(first_of_its_kind_is_a_regression),
		TEST(reading_nothing_has_no_mean),
		TEST(counts_of_other_samples_do_not_compare),
		TEST(missing_is_never_a_pass),
		TEST(missing_repetitions_are_never_a_pass),
		TEST(repetitions_without_a_number_do_not_count),
		TEST(comparing_nothing_is_never_a_pass),
		TEST(telling_only_is_never_a_pass),
		TEST(what_can_not_be_told_is_undecided),
		TEST(several_at_once_need_more_evidence_than_one),
		TEST(regression_goes_before_what_is_undecided),
		TEST(identical_repetitions_pass),
		TEST(only_the_last_session_is_paired),
		TEST(as_many_as_a_test_takes_are_compared),
		TEST(what_no_count_explains_is_told_by_its_metric),
		TEST(only_what_regresses_twice_is_confirmed),
		TEST(only_what_is_confirmed_is_explained),
		TEST(names_are_what_files_say),
		TEST(no_memory_is_said_and_nothing_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
