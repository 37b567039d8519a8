/* gate_drift_test.c - what a gate says that it sees, and days that differ. */
#include "loader/base/clock.h"
#include "tests/lib/close_to.h"
#include "tests/lib/sides.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is printed as detectable is what then is found, also near a limit of 0, where the
 * p of three metrics is what decides. */
TEST_WITH(what_a_gate_says_it_sees_it_sees, sides_setup, sides_teardown)
{
	static const double limits[] = {0, .05};

	for (unsigned which = 0; which < 2; which++) {
		unsigned hits = 0;

		for (unsigned trial = 0; trial < 300; trial++) {
			sides_again(&sides);
			gate_config_init(&sides.config);
			sides_limit(&sides, "fetch_stall", limits[which]);
			sides_add_both(&sides, 0, .01);
			sides_judge(&sides);
			sides_add_session(
				&sides, &sides.now, 8,
				limits[which] +
					sides_found(&sides, "fetch_stall").detectable,
				.01);
			sides_judge(&sides);
			hits += sides_found(&sides, "fetch_stall").status ==
				GATE_REGRESSED;
		}
		print_message("limit %g: %u of 300 found\n", limits[which], hits);
		assert_true(hits >= 276);
	}
}

/* A change of half as much beyond what drift may be is not found as surely. */
TEST_WITH(a_gate_sees_no_less_than_it_says, sides_setup, sides_teardown)
{
	unsigned hits = 0;

	sides.config.paired = false;
	sides_all_off(&sides);
	sides_limit(&sides, "prep_stall", .05);
	for (unsigned trial = 0; trial < 300; trial++) {
		struct gate_finding found;

		sides_again(&sides);
		sides_add_both(&sides, 0, .01);
		sides_judge(&sides);
		found = sides_found(&sides, "prep_stall");
		close_to(found.floor, .10, 1e-12);
		assert_true(.05 + found.detectable > found.floor);
		sides_add_session(&sides, &sides.now, 8,
				  (.05 + found.detectable + found.floor) / 2, .01);
		sides_judge(&sides);
		hits += sides_found(&sides, "prep_stall").status == GATE_REGRESSED;
	}
	print_message("%u of 300 found\n", hits);
	assert_true(hits <= 250);
}

TEST_WITH(floor_is_what_a_further_session_may_differ_by, sides_setup, sides_teardown)
{
	static const double medians[] = {1000, 1020, 990, 1010, 1005};
	double mean = 0, squares = 0;

	sides.config.paired = false;
	sides_all_off(&sides); /* at alpha, over one metric */
	sides_limit(&sides, "samples_per_s", .1);
	for (unsigned i = 0; i < 5; i++)
		mean += log(medians[i]) / 5;
	for (unsigned i = 0; i < 5; i++) {
		sides_add_session(&sides, &sides.base, 8, 1000 / medians[i] - 1, 0);
		squares += pow(log(medians[i]) - mean, 2);
	}
	sides_add_session(&sides, &sides.now, 8, 0, 0);
	sides_judge(&sides); /* t of 4 degrees of freedom: 2.1318 */
	close_to(sides_found(&sides, "samples_per_s").floor,
		 -expm1(-2.131847 * sqrt(squares / 4 * 1.2)), 1e-6);
	sides_status_is(&sides, "samples_per_s", GATE_PASSED);
}

/* The first code that was measured is no drift of the machine. */
TEST_WITH(few_sessions_do_not_excuse_anything, sides_setup, sides_teardown)
{
	sides.config.paired = false;
	sides_all_off(&sides);
	sides_limit(&sides, "prep_stall", .05);
	for (unsigned sessions = 1; sessions < GATE_SESSIONS; sessions++) {
		sides_again(&sides);
		for (unsigned i = 0; i < sessions; i++)
			sides_add_session(&sides, &sides.base, 8, i % 2 * .2, .001);
		sides_add_session(&sides, &sides.now, 8, .08, .001);
		sides_judge(&sides); /* a machine may have done that, and so may code */
		sides_status_is(&sides, "prep_stall", GATE_UNDECIDED);
		sides_add_session(&sides, &sides.now, 8, .4, .001);
		sides_judge(&sides);
		sides_status_is(&sides, "prep_stall", GATE_REGRESSED);
	}
}

/* As many as there are, but all of one hour. */
TEST_WITH(sessions_of_one_hour_are_one, sides_setup, sides_teardown)
{
	sides.config.paired = false;
	for (unsigned i = 0; i < 2 * GATE_SESSIONS; i++)
		sides_add_session(&sides, &sides.base, 8, 0, .001);
	sides_add_session(&sides, &sides.now, 8, .4, .001);
	sides_judge(&sides);
	sides_status_is(&sides, "samples_per_s", GATE_REGRESSED);
	assert_int_equal(sides.verdict.base_sessions, 2 * GATE_SESSIONS);
	for (unsigned i = 0; i < 2 * GATE_SESSIONS; i++)
		snprintf(sides.base.sessions[i].when, CLOCK_UTC,
			 "2026-01-01T12:%02u:00Z", 5 * i);
	sides_judge(&sides);
	sides_status_is(&sides, "samples_per_s", GATE_INFORMS);
	assert_int_equal(sides.verdict.base_sessions, 1);
	sides.base.sessions[4].when[0] = '\0'; /* no telling when */
	sides_judge(&sides);
	assert_int_equal(sides.verdict.base_sessions, 1);
	memcpy(sides.base.sessions[5].when, "2026-01-01T13", 13);
	sides_judge(&sides);
	assert_int_equal(sides.verdict.base_sessions, 2);
	memcpy(sides.base.sessions[9].when, "2026-01-01T09", 13); /* set back */
	sides_judge(&sides);
	assert_int_equal(sides.verdict.base_sessions, 3);
}

TEST_WITH(rate_needs_sessions_to_fail_a_build, sides_setup, sides_teardown)
{
	sides.config.paired = false;
	for (unsigned sessions = 1; sessions <= GATE_SESSIONS; sessions++) {
		bool enough = sessions == GATE_SESSIONS;

		sides_again(&sides);
		for (unsigned i = 0; i < sessions; i++)
			sides_add_session(&sides, &sides.base, 8, 0, .001);
		sides_add_session(&sides, &sides.now, 8, .4, .001);
		sides_judge(&sides);
		sides_status_is(&sides, "samples_per_s",
				enough ? GATE_REGRESSED : GATE_INFORMS);
		sides_status_is(&sides, "data_stall", GATE_REGRESSED);
		close_to(sides_found(&sides, "samples_per_s").worse.value, 1 - 1 / 1.4,
			 .01);
		sides_outcome_is(&sides, GATE_REGRESSION);
	}
}

static void new_session_of_drifting(bool with_floor, double drift, double noise)
{
	sides_again(&sides);
	for (unsigned i = 0; i < (with_floor ? GATE_SESSIONS : 1); i++)
		sides_add_session(&sides, &sides.base, 8, drift * sides_normal(&sides),
				  noise);
	sides_add_session(&sides, &sides.now, 8, drift * sides_normal(&sides), noise);
}

/* One machine, 3 % from session to session: no limit, so that only statistics help. */
static unsigned false_alarms(bool with_floor, unsigned *untested)
{
	unsigned alarms = 0;

	gate_config_init(&sides.config);
	sides.config.paired = false;
	sides_all_off(&sides);
	sides_limit(&sides, "samples_per_s", 0);
	for (unsigned trial = 0; trial < 400; trial++) {
		new_session_of_drifting(with_floor, .03, .01);
		sides_judge(&sides);
		alarms += sides.verdict.outcome == GATE_REGRESSION;
		*untested += sides_found(&sides, "samples_per_s").p < .05;
	}
	return alarms;
}

TEST_WITH(drift_between_sessions_fails_no_build, sides_setup, sides_teardown)
{
	unsigned without = 0, with = 0, alarms;

	assert_int_equal(false_alarms(false, &without), 0);
	alarms = false_alarms(true, &with);
	print_message("false alarms of 400: %u; p alone would give %u of a session, "
		      "%u of 5\n",
		      alarms, without, with);
	assert_true(without > 100); /* there was something to fall for */
	assert_true(alarms <= 20);
}

static void add_drifted(struct gate_side *side, double drift)
{
	double values[GATE_METRICS];

	for (int i = 0; i < GATE_METRICS; i++)
		values[i] = NAN;
	values[gate_metric_find("fetch_stall")] =
		.1 + drift / 3 + .01 * sides_normal(&sides);
	values[gate_metric_find("samples_per_s")] =
		1000 * (1 + drift) * (1 + .01 * sides_normal(&sides));
	assert_int_equal(gate_session_add(&side->sessions[0], values), 0);
}

/* The machine changes from pair to pair, alike for both of a pair. */
TEST_WITH(pairs_next_to_each_other_cancel_drift, sides_setup, sides_teardown)
{
	unsigned alarms = 0;

	sides_limit(&sides, "fetch_stall", .01);
	sides_limit(&sides, "samples_per_s", .01);
	for (unsigned trial = 0; trial < 1000; trial++) {
		sides_again(&sides);
		sides_add_session(&sides, &sides.base, 0, 0, 0);
		sides_add_session(&sides, &sides.now, 0, 0, 0);
		for (unsigned i = 0; i < 8; i++) {
			double drift = .03 * sides_normal(&sides);

			add_drifted(&sides.base, drift);
			add_drifted(&sides.now, drift);
		}
		sides_judge(&sides);
		alarms += sides.verdict.outcome == GATE_REGRESSION;
	}
	print_message("false alarms of 1000 in pairs: %u\n", alarms);
	assert_true(alarms < 5);
}

TEST_WITH(noise_alone_never_fails_a_build, sides_setup, sides_teardown)
{
	unsigned passes = 0;

	for (unsigned trial = 0; trial < 1000; trial++) {
		sides_again(&sides);
		gate_config_init(&sides.config);
		sides_limit(&sides, "data_stall", .10);
		sides_add_both(&sides, 0, .03);
		sides_judge(&sides);
		assert_int_not_equal(sides.verdict.outcome, GATE_REGRESSION);
		assert_int_equal(sides.verdict.cause_count, 0);
		passes += sides.verdict.outcome == GATE_PASS;
	}
	print_message("passes of 1000: %u\n", passes);
	assert_true(passes > 950);
}
