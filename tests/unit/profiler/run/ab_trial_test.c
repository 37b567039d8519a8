#include "profiler/run/ab_trial.h"
#include "tests/lib/test.h"

TEST(each_pair_has_both_sides_and_mirrors_the_one_before)
{
	assert_int_equal(ab_trial_side(0), 0);
	for (unsigned pair = 0; pair < 100; pair++) {
		assert_int_equal(ab_trial_side(2 * pair) + ab_trial_side(2 * pair + 1),
				 1);
		assert_int_equal(ab_trial_side(2 * pair + 1),
				 ab_trial_side(2 * pair + 2));
	}
}

/* What grows by as much from launch to launch adds as much to both sides. */
TEST(a_linear_drift_cancels_over_two_pairs)
{
	int difference = 0;

	for (unsigned i = 0; i < 64; i++) {
		difference += ab_trial_side(i) == 0 ? (int)i : -(int)i;
		if (i % 4 == 3)
			assert_int_equal(difference, 0);
	}
}
