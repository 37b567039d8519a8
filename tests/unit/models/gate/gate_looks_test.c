/* gate_looks_test.c - a gate that looks at what it has until it knows. */
#include "loader/base/error.h"
#include "models/gate/gate_looks.h"
#include "tests/lib/close_to.h"
#include "tests/lib/sides.h"
#include "tests/lib/test.h"
#include "tests/lib/trials.h"

#include <errno.h>
#include <math.h>

enum { FIRST = 7 };

/* As many as the last look sees. */
static void add_all(double slower, double noise)
{
	sides_again(&sides);
	sides.config.looks = true;
	sides_add_session(&sides, &sides.base, GATE_LOOKS_MOST, 0, noise);
	sides_add_session(&sides, &sides.now, GATE_LOOKS_MOST, slower, noise);
}

/* Judges the first ones, and the whole baseline. */
static void look_at(size_t repetitions)
{
	if (sides.config.paired)
		sides.base.sessions[0].count = repetitions;
	sides.now.sessions[0].count = repetitions;
	sides_judge(&sides);
}

/* Judges as the gate does. Returns how many it had in the end. */
static size_t play(void)
{
	look_at(FIRST);
	while (sides.verdict.next > 0)
		look_at(sides.verdict.next);
	return sides.verdict.repetitions;
}

TEST_WITH(looks_end_with_the_most, sides_setup, sides_teardown)
{
	unsigned looks = 0;
	size_t at = 0;

	for (size_t next; (next = gate_looks_next(at)) > 0; at = next)
		looks++;
	assert_int_equal(gate_looks_next(0), FIRST);
	assert_int_equal(at, GATE_LOOKS_MOST);
	assert_int_equal(looks, GATE_LOOKS);
	assert_int_equal(gate_looks_next(8), gate_looks_next(7));
}

/* Trials in which a look was wrong: p of any metric, and the bounds of one. */
struct wrong {
	unsigned p, low, high;
};

static bool is_refused(const char *name)
{
	struct gate_finding found = sides_found(&sides, name);

	return found.status != GATE_INFORMS && found.p < sides.config.alpha;
}

static void count_wrong(struct wrong *wrong)
{
	bool p = false, low = false, high = false;

	for (size_t at = 0; (at = gate_looks_next(at)) > 0;) {
		look_at(at);
		p |= is_refused("data_stall") || is_refused("samples_per_s");
		low |= sides_found(&sides, "data_stall").worse.low > 0;
		high |= sides_found(&sides, "data_stall").worse.high < 0;
	}
	wrong->p += p;
	wrong->low += low;
	wrong->high += high;
}

static void count_all_wrong(unsigned rounds, struct wrong *wrong)
{
	for (unsigned trial = 0; trial < rounds; trial++) {
		add_all(0, .01);
		sides.base.sessions[0].count = 8;
		count_wrong(wrong);
	}
}

/* Ranks of what differs in nothing are alike whatever the distribution: so is this. */
TEST_WITH(all_looks_together_err_no_more_than_alpha, sides_setup, sides_teardown)
{
	static const struct {
		bool paired;
		unsigned rounds;
		double alpha;
	} designs[] = {{true, TRIALS_OF(3000), .05},
		       {true, TRIALS_OF(1000), .01},
		       {false, TRIALS_OF(200), .05}};

	sides_all_off(&sides);
	sides_limit(&sides, "data_stall", 0);
	sides_limit(&sides, "samples_per_s", 0);
	for (size_t i = 0; i < sizeof(designs) / sizeof(*designs); i++) {
		double alpha = designs[i].alpha * designs[i].rounds;
		double most = alpha + 2 * sqrt(alpha); /* of so many trials */
		struct wrong wrong = {0};

		sides.config.paired = designs[i].paired;
		sides.config.alpha = designs[i].alpha;
		count_all_wrong(designs[i].rounds, &wrong);
		print_message("%u of %u by p, by bounds %u and %u; at most %g\n",
			      wrong.p, designs[i].rounds, wrong.low, wrong.high, most);
		assert_true(wrong.p <= most && wrong.p > alpha / 5);
		assert_true(wrong.low <= most && wrong.high <= most);
	}
}

TEST_WITH(what_is_plain_is_known_at_the_first_look, sides_setup, sides_teardown)
{
	static const struct {
		double slower;
		enum gate_outcome outcome;
	} plain[] = {{.2, GATE_REGRESSION}, {-.2, GATE_IMPROVEMENT}, {0, GATE_PASS}};

	for (size_t i = 0; i < 6; i++) {
		sides.config.paired = i < 3;
		add_all(plain[i % 3].slower, .002);
		assert_int_equal(play(), FIRST);
		sides_outcome_is(&sides, plain[i % 3].outcome);
		assert_int_equal(sides.verdict.most, GATE_LOOKS_MOST);
	}
}

/* As much worse as the limit allows. */
TEST_WITH(what_is_open_goes_on_to_the_last_look, sides_setup, sides_teardown)
{
	add_all(.025, .03);
	look_at(FIRST);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	assert_int_equal(sides.verdict.next, gate_looks_next(FIRST));
	assert_int_equal(play(), GATE_LOOKS_MOST);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	sides_status_is(&sides, "data_stall", GATE_UNDECIDED);
}

TEST_WITH(one_regression_is_enough, sides_setup, sides_teardown)
{
	add_all(.025, .03); /* the stall is open */
	sides.now.about.counted.opens++;
	assert_int_equal(play(), FIRST);
	sides_outcome_is(&sides, GATE_REGRESSION);
}

TEST_WITH(more_of_the_same_brings_nothing_that_is_missing, sides_setup, sides_teardown)
{
	add_all(0, .002);
	sides.now.about.counted.opens = UNKNOWN;
	assert_int_equal(play(), FIRST);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	add_all(.025, .03); /* but what else is open may regress */
	sides.now.about.counted.opens = UNKNOWN;
	assert_int_equal(play(), GATE_LOOKS_MOST);
}

/* What was asked for is judged once, at all of alpha. */
TEST_WITH(a_fixed_number_is_judged_once, sides_setup, sides_teardown)
{
	struct gate_finding once, looked;

	add_all(.025, .03);
	look_at(FIRST);
	looked = sides_found(&sides, "data_stall");
	sides.config.looks = false;
	look_at(FIRST);
	once = sides_found(&sides, "data_stall");
	assert_int_equal(sides.verdict.next, 0);
	assert_int_equal(sides.verdict.most, 0);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	assert_true(looked.p > once.p && once.p > 0);
	assert_true(looked.worse.low < once.worse.low);
	assert_true(looked.worse.high > once.worse.high);
	assert_true(looked.detectable < once.detectable); /* at the last look */
}

TEST_WITH(of_a_session_it_sees_what_the_last_look_will, sides_setup, sides_teardown)
{
	double once;

	sides.config.paired = false;
	sides_add_session(&sides, &sides.base, GATE_LOOKS_MOST, 0, .03);
	sides_add_session(&sides, &sides.now, FIRST, 0, .03);
	sides_judge(&sides);
	once = sides_found(&sides, "data_stall").detectable;
	sides.config.looks = true;
	sides_judge(&sides);
	assert_true(sides_found(&sides, "data_stall").detectable < once);
}

TEST_WITH(a_level_that_early_looks_can_not_reach_waits, sides_setup, sides_teardown)
{
	struct error err = {0};

	sides.config.alpha = .0005;
	assert_int_equal(gate_check(&sides.config, NULL, FIRST, &err), -EINVAL);
	add_all(.2, .002);
	assert_int_equal(gate_check(&sides.config, NULL, GATE_LOOKS_MOST, &err), 0);
	look_at(FIRST);
	sides_outcome_is(&sides, GATE_INCONCLUSIVE);
	assert_in_range(play(), FIRST + 1, GATE_LOOKS_MOST - 1);
	sides_outcome_is(&sides, GATE_REGRESSION);
}

/* However often its session is looked at. */
TEST_WITH(machines_drift_once, sides_setup, sides_teardown)
{
	double floor;

	sides.config.paired = false;
	for (unsigned i = 0; i < GATE_SESSIONS; i++)
		sides_add_session(&sides, &sides.base, 8, .01 * i, .001);
	sides_add_session(&sides, &sides.now, 8, 0, .001);
	sides_judge(&sides);
	floor = sides_found(&sides, "samples_per_s").floor;
	sides.config.looks = true;
	sides_judge(&sides);
	close_to(sides_found(&sides, "samples_per_s").floor, floor, 1e-12);
}

/* At some look, though the first can't. */
TEST_WITH(what_a_gate_says_it_sees_it_finds, sides_setup, sides_teardown)
{
	enum { TRIALS = 200 };
	unsigned found = 0, first = 0;

	sides_all_off(&sides);
	sides_limit(&sides, "prep_stall", .05);
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		double sees;

		add_all(0, .02);
		look_at(FIRST);
		sees = .05 + sides_found(&sides, "prep_stall").detectable;
		add_all(sees, .02);
		first += play() == FIRST;
		found += sides.verdict.outcome == GATE_REGRESSION;
	}
	print_message("of %d found %u, %u at the first look\n", TRIALS, found, first);
	assert_true(found >= .9 * TRIALS);
	assert_true(first < .5 * TRIALS);
}
