/* gate_improve_test.c - what got better, the sum of the stalls, and numbers that agree. */
#include "tests/lib/close_to.h"
#include "tests/lib/sides.h"
#include "tests/lib/test.h"

#include <math.h>

/* What is as much better as what regresses is worse; in pairs and against sessions. */
TEST_WITH(what_is_surely_better_is_an_improvement, sides_setup, sides_teardown)
{
	static const char *const names[] = {"data_stall", "cpu_s_per_sample",
					    "samples_per_s"};

	for (size_t i = 0; i < 6; i++) {
		sides_end(&sides);
		sides_begin(&sides);
		sides.config.paired = i < 3;
		sides_all_off(&sides);
		sides_limit(&sides, names[i % 3], .05);
		for (unsigned session = 0; session < GATE_SESSIONS; session++)
			sides_add_session(&sides, &sides.base, 8, 0, .002);
		sides_add_session(&sides, &sides.now, 8, -.15, .002);
		sides_judge(&sides);
		sides_outcome_is(&sides, GATE_IMPROVEMENT);
		sides_status_is(&sides, names[i % 3], GATE_IMPROVED);
		says(sides.verdict.why, names[i % 3]);
		says(sides.verdict.why, " better, at least ");
		assert_true(sides_found(&sides, names[i % 3]).p < .05);
	}
}

/* Of two metrics, at 1 of 256 ways to exchange pairs each. */
TEST_WITH(the_p_of_what_is_better_knows_how_many_are_asked, sides_setup, sides_teardown)
{
	sides_all_off(&sides);
	sides_limit(&sides, "data_stall", .05);
	sides_limit(&sides, "samples_per_s", .05);
	sides_add_both(&sides, -.15, .002);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_IMPROVEMENT);
	close_to(sides_found(&sides, "samples_per_s").p, 2 / 256., 1e-9);
}

TEST_WITH(counts_improve_too, sides_setup, sides_teardown)
{
	sides_timed_off(&sides);
	sides.now.about.counted.opens = 500;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_IMPROVEMENT);
	sides_status_is(&sides, "opens_per_sample", GATE_IMPROVED);
	says(sides.verdict.why, "opens_per_sample: 0.5, was 1: better");
	sides_limit(&sides, "opens_per_sample", .6);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	sides_limit(&sides, "opens_per_sample", 0);
	sides.now.about.counted.reads++;
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_REGRESSION);
}

/* With no limit, so that only statistics help. */
TEST_WITH(noise_alone_is_no_improvement, sides_setup, sides_teardown)
{
	unsigned better = 0, worse = 0;

	sides_all_off(&sides);
	sides_limit(&sides, "samples_per_s", 0);
	for (unsigned trial = 0; trial < 1000; trial++) {
		sides_again(&sides);
		sides_add_both(&sides, 0, .03);
		sides_judge(&sides);
		better += sides.verdict.outcome == GATE_IMPROVEMENT;
		worse += sides.verdict.outcome == GATE_REGRESSION;
	}
	print_message("of 1000 better %u, worse %u\n", better, worse);
	assert_true(better < 50 && worse < 50);
}

/* Noise that moves time from one stage to the other is none of their sum. */
TEST_WITH(the_sum_of_the_stalls_decides, sides_setup, sides_teardown)
{
	int fetch = gate_metric_find("fetch_stall"),
	    prep = gate_metric_find("prep_stall");

	sides_add_both(&sides, 0, .005);
	for (size_t i = 0; i < 8; i++) {
		double moved = .2 * sides_normal(&sides);

		sides.now.sessions[0].values[i][fetch] += moved;
		sides.now.sessions[0].values[i][prep] -= moved;
	}
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	close_to(sides_found(&sides, "data_stall").now, .40, .02);
	sides_status_is(&sides, "fetch_stall", GATE_INFORMS);
	sides_limit(&sides, "prep_stall", .05); /* but who asks for it */
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "prep_stall", GATE_UNDECIDED);
	sides_limit(&sides, "prep_stall", INFINITY);
	sides_judge(&sides);
	sides_outcome_is(&sides, GATE_PASS);
	assert_null(sides_find(&sides, "prep_stall"));
}

TEST_WITH(of_stalls_that_are_not_all_known_there_is_no_sum, sides_setup, sides_teardown)
{
	double values[GATE_METRICS];

	for (int i = 0; i < GATE_METRICS; i++)
		values[i] = NAN;
	values[gate_metric_stall(STAGE_PREP)] = .2;
	gate_metric_sum_stalls(values);
	assert_true(isnan(values[gate_metric_find("data_stall")]));
}

/* Where a median of differences is no difference of medians, too. */
TEST_WITH(before_and_now_differ_by_the_change, sides_setup, sides_teardown)
{
	static const double limits[] = {.05, INFINITY};

	for (size_t i = 0; i < 4; i++) {
		sides_again(&sides);
		sides.config.paired = i % 2 == 0;
		sides_limit(&sides, "prep_stall", limits[i / 2]);
		sides_add_both(&sides, .1, .1);
		sides_judge(&sides);
		for (size_t j = 0; j < sides.verdict.count; j++) {
			const struct gate_finding *found = &sides.verdict.findings[j];
			int metric = gate_metric_find(found->name);

			close_to(gate_metric_worse(&gate_metrics[metric], found->base,
						   found->now),
				 found->worse.value, 1e-9);
		}
	}
}
