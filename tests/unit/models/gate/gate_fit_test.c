/* gate_fit_test.c - what does not compare: machines, data sets, settings. */
#include "loader/base/error.h"
#include "models/gate/gate_config.h"
#include "models/gate/gate_fit.h"
#include "tests/lib/sides.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void set_fact(struct gate_side *side, const char *key, const char *value)
{
	for (size_t i = 0; i < side->about.fact_count; i++)
		if (strcmp(side->about.environment[i].key, key) == 0)
			assert_int_equal(profile_text(&side->about.environment[i].value,
						      "%s", value),
					 0);
}

/* There the gate times nothing, unless it may be another one. */
TEST_WITH(on_another_machine_nothing_is_timed, sides_setup, sides_teardown)
{
	sides_add_session(&sides, &sides.base, 8, 0, .01);
	sides.config.paired = false;
	set_fact(&sides.now, "cpu", "Xeon 8370C");
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_MISMATCH);
	says(sides.verdict.why, "--allow-env-change");
	sides_status_is(&sides, "data_stall", GATE_MISSING);
	says(sides_found(&sides, "data_stall").why, "not timed: another machine");
	sides.config.any_environment = true;
	sides_judge(&sides);
	sides_status_is(&sides, "data_stall", GATE_MISSING);
	says(sides_found(&sides, "data_stall").why, "not measured now");
}

TEST_WITH(another_machine_is_a_mismatch, sides_setup, sides_teardown)
{
	sides_add_both(&sides, 0, .01);
	set_fact(&sides.now, "cpu", "Xeon 8370C");
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_MISMATCH);
	assert_int_equal(sides.verdict.mismatch_count, 1);
	assert_string_equal(sides.verdict.mismatches[0],
			    "cpu: Xeon 8370C, was EPYC 7763");
	assert_null(sides.verdict.mismatches[1]);
	sides_status_is(&sides, "fetch_stall", GATE_INFORMS);
	sides_status_is(&sides, "opens_per_sample", GATE_PASSED);
	sides.now.about.counted.opens = 9000; /* also before a regression */
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_MISMATCH);
	sides.config.any_environment = true;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	assert_int_equal(sides.verdict.mismatch_count, 1);
	sides.now.about.counted.opens = 1000;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	sides_status_is(&sides, "fetch_stall", GATE_INFORMS);
}

static void forget_fact(struct gate_side *side, const char *key)
{
	for (size_t i = 0; i < side->about.fact_count; i++)
		if (strcmp(side->about.environment[i].key, key) == 0)
			side->about.environment[i].key[0] = '-';
}

/* arm64 has no model name; a baseline of another processor would decide. */
TEST_WITH(cpus_that_nobody_knows_may_differ, sides_setup, sides_teardown)
{
	sides_add_both(&sides, .3, .01);
	forget_fact(&sides.base, "cpu");
	forget_fact(&sides.now, "cpu");
	sides_judge(&sides); /* in pairs, at the same time */
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides.config.paired = false;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_MISMATCH);
	assert_string_equal(sides.verdict.mismatches[0], "cpu: unknown, was unknown");
	assert_null(sides.verdict.mismatches[1]);
}

TEST_WITH(each_fact_of_a_machine_counts, sides_setup, sides_teardown)
{
	sides_add_both(&sides, 0, .01);
	set_fact(&sides.now, "kernel", "Linux 6.18");
	set_fact(&sides.now, "memory", "23.3 GiB"); /* as another kernel has it */
	sides_add_fact(&sides.now, "gpu_driver", "580.65.06");
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	set_fact(&sides.now, "memory", "15.6 GiB");
	set_fact(&sides.now, "dataset_storage", "network");
	set_fact(&sides.now, "cpu_threads_allowed", "4");
	sides_add_fact(&sides.now, "cpu_quota", "1.5");
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_MISMATCH);
	assert_int_equal(sides.verdict.mismatch_count, 4);
	assert_string_equal(sides.verdict.mismatches[1], "cpu_quota: 1.5, was none");
	set_fact(&sides.now, "memory", "23.47 TiB");
	sides_judge(&sides);
	assert_int_equal(sides.verdict.mismatch_count, 4);
	set_fact(&sides.now, "memory", "");
	sides_judge(&sides);
	assert_int_equal(sides.verdict.mismatch_count, 4);
	sides_add_fact(&sides.now, "gpu", "Fast GPU");
	sides_add_fact(&sides.now, "gpu_count", "2");
	sides_judge(&sides);
	assert_int_equal(sides.verdict.mismatch_count, 6);
	assert_string_equal(sides.verdict.mismatches[4], "gpu: Fast GPU, was none");
	assert_string_equal(sides.verdict.mismatches[5], "gpu_count: 2, was none");
	sides_timed_off(&sides); /* counts are the same anywhere */
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_int_equal(sides.verdict.mismatch_count, 6);
}

TEST_WITH(another_data_set_is_always_a_mismatch, sides_setup, sides_teardown)
{
	sides_add_both(&sides, .3, .01);
	sides.config.any_environment = true;
	assert_int_equal(profile_text(&sides.now.about.digest, "fedcba9876543210"), 0);
	sides.now.about.counted.opens = 2000;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_MISMATCH);
	assert_string_equal(sides.verdict.mismatches[0],
			    "data set's digest: fedcba9876543210, "
			    "was 0123456789abcdef");
	sides_status_is(&sides, "opens_per_sample", GATE_INFORMS);
	sides_status_is(&sides, "prep_stall", GATE_INFORMS);
	says(sides.verdict.why, "the data set changed (digest: ");
	assert_int_equal(sides.verdict.cause_count, 0);
	sides.now.about.dataset_samples = 100;
	sides.now.about.dataset_bytes = UNKNOWN;
	sides.config.paired = false;
	sides_judge(&sides);
	assert_string_equal(sides.verdict.why,
			    "the data set changed (samples: 100, was 4096): record a "
			    "new baseline");
	assert_int_equal(sides.verdict.mismatch_count, 3);
	assert_string_equal(sides.verdict.mismatches[2],
			    "data set's bytes: unknown, was 400000000");
	sides.now.about.counted.samples = 100; /* all that it has */
	sides_judge(&sides);
	sides_status_is(&sides, "opens_per_sample", GATE_INFORMS);
	assert_string_equal(sides_found(&sides, "opens_per_sample").why,
			    "info only: another data set");
}

static void refused(int result, const struct error *err, const char *part)
{
	assert_int_equal(result, -EINVAL);
	says(err->message, part);
}

TEST_WITH(more_timed_metrics_than_can_be_tested_are_refused, sides_setup,
	  sides_teardown)
{
	struct error err = {0};

	assert_int_equal(gate_check(&sides.config, NULL, 8, &err), 0);
	sides_limit(&sides, "cpu_s_per_sample", .1);
	sides_limit(&sides, "prep_stall", .1);
	assert_int_equal(gate_check(&sides.config, NULL, 8, &err), 0);
	sides_limit(&sides, "fetch_stall", .1);
	refused(gate_check(&sides.config, NULL, 8, &err), &err,
		"--metric samples_per_s=off");
	refused(gate_judge(&sides.config, &sides.base, &sides.now, &sides.verdict,
			   &err),
		&err, "off");
	sides_limit(&sides, "samples_per_s", INFINITY);
	assert_int_equal(gate_check(&sides.config, NULL, 8, &err), 0);
}

TEST_WITH(alpha_that_pairs_can_not_reach_is_refused, sides_setup, sides_teardown)
{
	struct error err = {0};

	refused(gate_check(&sides.config, NULL, 5, &err), &err, "take 6 (--pairs)");
	refused(gate_check(&sides.config, NULL, 0, &err), &err, "take 6");
	assert_int_equal(gate_check(&sides.config, NULL, 6, &err), 0);
	sides.config.alpha = .001;
	refused(gate_check(&sides.config, NULL, 8, &err), &err, "take 11");
	sides.config.paired = false;
	assert_int_equal(gate_check(&sides.config, NULL, 1, &err), 0); /* not yet */
	refused(gate_check(&sides.config, &sides.base, 32, &err), &err,
		"the baseline has counts alone");
	sides_add_session(&sides, &sides.base, 8, 0, .01);
	assert_int_equal(gate_check(&sides.config, &sides.base, 8, &err), 0);
	refused(gate_check(&sides.config, &sides.base, 4, &err), &err, "take 5");
	for (unsigned i = 1; i < GATE_SESSIONS; i++) /* of 40, and the rate decides */
		sides_add_session(&sides, &sides.base, 8, 0, .01);
	refused(gate_check(&sides.config, &sides.base, 2, &err), &err, "take 3");
	gate_side_free(&sides.base);
	sides_add_session(&sides, &sides.base, 1, 0, .01);
	refused(gate_check(&sides.config, &sides.base, 8, &err), &err,
		"--update the baseline");
	sides_timed_off(&sides);
	assert_int_equal(gate_check(&sides.config, NULL, 0, &err), 0);
	gate_side_free(&sides.base);
	assert_int_equal(gate_check(&sides.config, &sides.base, 0, &err), 0);
	refused(gate_check(&sides.config, NULL, 65, &err), &err, "at most 64");
}

static void too_few(const char *part)
{
	sides_judge(&sides);
	sides_status_is(&sides, "data_stall", GATE_MISSING);
	says(sides_found(&sides, "data_stall").why, part);
	assert_int_equal(sides.verdict.outcome, GATE_INCONCLUSIVE);
	says(sides.verdict.why, part);
	gate_verdict_free(&sides.verdict);
}

/* With too few of them nothing timed is compared, but counts are. */
TEST_WITH(judged_repetitions_have_to_reach_alpha_too, sides_setup, sides_teardown)
{
	sides_add_session(&sides, &sides.base, 8, 0, .01);
	sides_add_session(&sides, &sides.now, 4, 0, .01);
	too_few("take 6");
	sides.config.paired = false;
	sides_judge(&sides); /* 2 / 495, the rate only informs */
	sides_status_is(&sides, "data_stall", GATE_PASSED);
	gate_verdict_free(&sides.verdict);
	sides.config.alpha = .001;
	too_few("take 5");
	sides.now.about.counted.opens *= 2;
	sides_judge(&sides);
	sides_status_is(&sides, "opens_per_sample", GATE_REGRESSED);
	assert_int_equal(sides.verdict.outcome, GATE_REGRESSION);
}

TEST_WITH(bytes_count_where_one_loader_is_libdsas, sides_setup, sides_teardown)
{
	struct gate_fit fit;

	sides.base.about.loader_kind.id = LOADER_TORCH;
	sides.now.about.loader_kind.id = LOADER_DSA;
	sides.now.about.dataset_bytes++;
	assert_int_equal(
		gate_fit_check(&sides.base.about, &sides.now.about, true, &fit), 0);
	assert_true(fit.other_data);
	gate_fit_free(&fit);
}

TEST_WITH(looks_of_a_single_repetition_reach_nothing, sides_setup, sides_teardown)
{
	struct error err = {0};

	sides.config.paired = false;
	sides.config.looks = true;
	refused(gate_config_reaches(&sides.config, 1, 28, 1, &err), &err, "alpha");
}

TEST_WITH(impossible_numbers_are_refused, sides_setup, sides_teardown)
{
	static const double alphas[] = {0, -1, .5, 2, NAN, INFINITY};
	struct error err = {0};

	for (size_t i = 0; i < sizeof(alphas) / sizeof(alphas[0]); i++) {
		sides.config.alpha = alphas[i];
		refused(gate_check(&sides.config, NULL, 8, &err), &err, "alpha");
	}
	sides.config.alpha = .05;
	sides_limit(&sides, "prep_stall", -.1);
	refused(gate_check(&sides.config, NULL, 8, &err), &err, "prep_stall");
}
