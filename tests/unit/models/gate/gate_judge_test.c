/* gate_judge_test.c - what a gate decides: pass, regression or that it can't tell. */
#include "models/gate/gate_statistics.h"
#include "tests/lib/close_to.h"
#include "tests/lib/nomem.h"
#include "tests/lib/sides.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>

TEST_WITH(same_code_passes, sides_setup, sides_teardown)
{
	sides_add_both(&sides, 0, .01);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_int_equal(sides.verdict.count,
			 GATE_METRICS - 5); /* cpu, own reads, a device's */
	for (size_t i = 0; i < sides.verdict.count; i++) {
		const char *name = sides.verdict.findings[i].name;

		sides_status_is(&sides, name,
				gate_metrics[gate_metric_find(name)].informs
					? GATE_INFORMS
					: GATE_PASSED);
	}
	assert_int_equal(sides.verdict.base_repetitions, 8);
	assert_int_equal(sides.verdict.repetitions, 8);
	assert_int_equal(sides.verdict.cause_count, 0);
	assert_null(sides.verdict.causes);
	assert_null(sides.verdict.mismatches);
	says(sides.verdict.why,
	     "9 of 11 metrics within their limits, 2 for information only");
}

/* A busy machine is told, and decides nothing. */
TEST_WITH(who_was_busy_is_told, sides_setup, sides_teardown)
{
	struct profile_busy busy = PROFILE_BUSY_UNKNOWN;

	sides_add_both(&sides, 0, .01);
	sides_judge(&sides);
	assert_null(sides.verdict.busy);
	busy.others_cpu_share = .4;
	busy.windows = 30;
	busy.disturbed = 9;
	sides.now.about.busy = sides.base.about.busy = busy;
	sides.base.about.busy.others_cpu_share = .2;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	says(sides.verdict.busy, "used 30% of the CPU; 18 of 60 measurements were");
}

/* Which have no noise. */
TEST_WITH(who_was_busy_beside_counts_is_not_told, sides_setup, sides_teardown)
{
	sides_timed_off(&sides);
	sides.now.about.busy.others_cpu_share = .4;
	sides.now.about.busy.windows = sides.now.about.busy.disturbed = 1;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_null(sides.verdict.busy);
}

/* A rate that falls is found as a stall that grows is, paired or not. */
TEST_WITH(timed_metrics_have_a_direction, sides_setup, sides_teardown)
{
	static const char *const names[] = {"fetch_stall", "prep_stall",
					    "cpu_s_per_sample", "samples_per_s"};

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
		sides_add_session(&sides, &sides.now, 8, -.03, .002);
		sides_judge(&sides);
		sides_outcome_is(&sides, GATE_PASS);
		close_to(sides_found(&sides, names[i % 4]).worse.value, -.03, .01);
		says(sides_found(&sides, names[i % 4]).why, "no worse");
	}
}

TEST_WITH(change_is_measured_from_good_to_bad, sides_setup, sides_teardown)
{
	const struct gate_metric *rate =
		&gate_metrics[gate_metric_find("samples_per_s")];
	const struct gate_metric *cpu =
		&gate_metrics[gate_metric_find("cpu_s_per_sample")];
	const struct gate_metric *stall =
		&gate_metrics[gate_metric_find("fetch_stall")];
	const struct gate_metric *hits =
		&gate_metrics[gate_metric_find("hits_per_sample")];

	assert_false(signbit(gate_metric_worse(hits, 0, 0))); /* "-0.0" in JSON */
	close_to(gate_metric_worse(rate, 1000, 800), .2, 1e-12);
	close_to(gate_metric_worse(rate, 952, 503), .4716, 1e-4);
	close_to(gate_metric_worse(rate, 596, 1242), -1.0839, 1e-4);
	close_to(gate_metric_after(rate, 800, .25), 600, 1e-9);
	close_to(gate_metric_after(cpu, 800, .25), 1000, 1e-9);
	close_to(gate_metric_after(stall, .2, .25), .45, 1e-12);
	close_to(gate_metric_worse(cpu, 2, 3), .5, 1e-12);
	close_to(gate_metric_worse(stall, .1, -.02), -.12, 1e-12);
	close_to(gate_metric_worse(cpu, 0, 0), 0, 0);
	assert_true(isnan(gate_metric_worse(cpu, 0, 1)));
	assert_true(isnan(gate_metric_worse(rate, 0, 1)));
	close_to(gate_metric_worse(rate, 1, 0), 1, 0);
	close_to(gate_metric_worse(cpu, 1, 0), -1, 0);
	assert_true(isnan(gate_metric_worse(cpu, NAN, 1)));
	assert_true(isnan(gate_metric_worse(stall, 0, NAN)));
	assert_int_equal(gate_metric_find("samples_per_second"), -1);
}

TEST_WITH(missing_is_never_a_pass, sides_setup, sides_teardown)
{
	sides_add_both(&sides, 0, .01);
	sides.now.about.counted.opens = UNKNOWN;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "opens_per_sample", GATE_MISSING);
	says(sides.verdict.why, "not compared: opens_per_sample");
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

TEST_WITH(missing_repetitions_are_never_a_pass, sides_setup, sides_teardown)
{
	sides_add_session(&sides, &sides.base, 8, 0, .01);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "data_stall", GATE_MISSING);
	sides_status_is(&sides, "samples_per_s", GATE_MISSING);
	assert_null(sides_find(&sides, "fetch_stall")); /* it would only inform */
	sides.config.paired = false;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
}

TEST_WITH(repetitions_without_a_number_do_not_count, sides_setup, sides_teardown)
{
	int metric = gate_metric_find("prep_stall");

	sides_limit(&sides, "prep_stall", .05);
	sides_add_both(&sides, 0, .01);
	for (size_t i = 0; i < 5; i++)
		sides.now.sessions[0].values[i][metric] = NAN;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "prep_stall", GATE_UNDECIDED);
	says(sides_found(&sides, "prep_stall").why, "too few");
	assert_true(isnan(sides_found(&sides, "prep_stall").detectable));
	sides_status_is(&sides, "data_stall", GATE_PASSED);
	for (size_t i = 5; i < 8; i++)
		sides.now.sessions[0].values[i][metric] = NAN;
	sides_judge(&sides);
	sides_status_is(&sides, "prep_stall", GATE_MISSING);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
}

TEST_WITH(comparing_nothing_is_never_a_pass, sides_setup, sides_teardown)
{
	sides_all_off(&sides);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	assert_int_equal(sides.verdict.count, 0);
	says(sides.verdict.why, "nothing was compared");
}

TEST_WITH(telling_only_is_never_a_pass, sides_setup, sides_teardown)
{
	sides_add_both(&sides, 0, .01);
	sides_all_off(&sides);
	sides_limit(&sides, "samples_per_s", .10);
	sides.config.paired = false;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "samples_per_s", GATE_INFORMS);
	says(sides.verdict.why, "nothing that was compared decides");
}

/* Logarithms of now / base; by ratios - 1 each loss ranks above the larger gain. */
static const double changes[] = {.10, -.11, .20, -.21, .29, -.30};

static double p_of_changes(const char *name, double sign)
{
	int metric = gate_metric_find(name);

	sides_end(&sides);
	sides_begin(&sides);
	sides_all_off(&sides);
	sides_limit(&sides, name, .10);
	sides_add_session(&sides, &sides.base, 6, 0, 0);
	sides_add_session(&sides, &sides.now, 6, 0, 0);
	for (int i = 0; i < 6; i++)
		sides.now.sessions[0].values[i][metric] =
			sides.base.sessions[0].values[i][metric] *
			exp(sign * changes[i]);
	sides_judge(&sides);
	return sides_found(&sides, name).p;
}

/* Of the 64 ways to toss 6 signs; whether base or now has the longer times. */
TEST_WITH(pairs_of_ratios_are_tested_alike_both_ways, sides_setup, sides_teardown)
{
	close_to(p_of_changes("cpu_s_per_sample", 1), 42. / 64, 1e-12);
	close_to(p_of_changes("cpu_s_per_sample", -1), 27. / 64, 1e-12);
	close_to(p_of_changes("samples_per_s", -1), 42. / 64, 1e-12);
	close_to(p_of_changes("samples_per_s", 1), 27. / 64, 1e-12);
}

TEST_WITH(a_bound_of_too_few_repetitions_is_unknown, sides_setup, sides_teardown)
{
	sides_add_session(&sides, &sides.base, 2, 0, .01);
	sides_add_session(&sides, &sides.now, 2, 0, .01);
	sides_all_off(&sides);
	sides_limit(&sides, "samples_per_s", .10);
	sides.config.paired = false;
	sides_judge(&sides);
	assert_true(isfinite(sides_found(&sides, "samples_per_s").worse.value));
	assert_true(isnan(sides_found(&sides, "samples_per_s").worse.low));
	assert_true(isnan(sides_found(&sides, "samples_per_s").worse.high));
}

TEST_WITH(what_can_not_be_told_is_undecided, sides_setup, sides_teardown)
{
	sides_add_both(&sides, .05, .03);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "data_stall", GATE_UNDECIDED);
	says(sides_found(&sides, "data_stall").why, "too noisy: anything from ");
	assert_true(sides_found(&sides, "data_stall").detectable > 0);
	assert_true(sides_found(&sides, "data_stall").worse.low < .10);
	assert_true(sides_found(&sides, "data_stall").worse.high > .05);
}

/* Of one session nobody knows what those of identical code differ by: 10 points. */
TEST_WITH(a_change_beyond_its_limit_is_not_called_noisy, sides_setup, sides_teardown)
{
	sides.config.paired = false;
	sides_add_both(&sides, .035, .002);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "data_stall", GATE_UNDECIDED);
	assert_true(sides_found(&sides, "data_stall").worse.low > .05);
	says(sides_found(&sides, "data_stall").why,
	     " points worse: beyond the limit of 5 points, but the same program may "
	     "differ by 10 points; p ");
}

/* p of 8 pairs of which the 1st and the 2nd by size are better: 5 in 256. */
TEST_WITH(several_at_once_need_more_evidence_than_one, sides_setup, sides_teardown)
{
	int metric = gate_metric_find("fetch_stall");

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
	sides_limit(&sides, "data_stall", INFINITY);
	sides_limit(&sides, "samples_per_s", INFINITY);
	sides_judge(&sides);
	close_to(sides_found(&sides, "fetch_stall").p, 5. / 256, 1e-12);
	sides_status_is(&sides, "fetch_stall", GATE_REGRESSED);
}

TEST_WITH(regression_goes_before_what_is_undecided, sides_setup, sides_teardown)
{
	sides_add_both(&sides, .05, .03);
	sides.now.about.counted.hits = 0;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
	says(sides.verdict.why, "hits_per_sample");
}

TEST_WITH(identical_repetitions_pass, sides_setup, sides_teardown)
{
	sides_add_both(&sides, 0, 0);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	close_to(sides_found(&sides, "samples_per_s").detectable, 0, 1e-9);
}

TEST_WITH(only_the_last_session_is_paired, sides_setup, sides_teardown)
{
	sides_add_session(&sides, &sides.base, 8, .5, .01);
	sides_add_session(&sides, &sides.now, 8, .9, .01);
	sides_add_both(&sides, 0, .01);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_int_equal(sides.verdict.base_repetitions, 8);
	/* Of their noise, not of what the sessions differ by. */
	assert_true(sides_found(&sides, "samples_per_s").floor < .05);
}

TEST_WITH(as_many_as_a_test_takes_are_compared, sides_setup, sides_teardown)
{
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

TEST_WITH(only_what_regresses_twice_is_confirmed, sides_setup, sides_teardown)
{
	confirm(.2, .2);
	sides_outcome_is(&sides, GATE_REGRESSION);
	sides_status_is(&sides, "data_stall", GATE_REGRESSED);
	confirm(.2, 0);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "data_stall", GATE_UNDECIDED);
	sides_status_is(&sides, "opens_per_sample", GATE_PASSED);
	confirm(0, .2);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "data_stall", GATE_UNDECIDED);
	confirm(0, 0);
	sides_outcome_is(&sides, GATE_PASS);
}

TEST_WITH(names_are_what_files_say, sides_setup, sides_teardown)
{
	assert_string_equal(gate_tier_name(GATE_EXACT), "exact");
	assert_string_equal(gate_tier_name(GATE_RATE), "rate");
	assert_string_equal(gate_status_name(GATE_PASSED), "pass");
	assert_string_equal(gate_status_name(GATE_INFORMS), "informs");
	assert_string_equal(gate_outcome_name(GATE_PASS), "pass");
	assert_string_equal(gate_outcome_name(GATE_MISMATCH), "mismatch");
	assert_string_equal(gate_outcome_name(GATE_IMPROVEMENT), "improvement");
	assert_string_equal(gate_status_name(GATE_IMPROVED), "improvement");
}

TEST_WITH(no_memory_is_said_and_nothing_leaks, sides_setup, sides_teardown)
{
	unsigned failures = 0;

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
