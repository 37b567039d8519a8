/* backoff_test.c - rests of requests that are sent again. */
#include "loader/base/backoff.h"
#include "tests/lib/test.h"

#include <stdint.h>

static void close_to(double value, double wanted)
{
	assert_true(fabs(value - wanted) < 1e-12);
}

/* Half of the draws rest no longer than half of it. */
TEST(a_rest_is_any_part_of_its_limit)
{
	close_to(backoff_rest_s(BACKOFF_FIRST_S, 0, 0), 0);
	close_to(backoff_rest_s(BACKOFF_FIRST_S, 0, .5), BACKOFF_FIRST_S / 2);
	close_to(backoff_rest_s(2, 1, .75), 3);
}

TEST(the_limit_doubles_up_to_the_longest)
{
	double limit = BACKOFF_FIRST_S;

	for (unsigned tries = 0; tries < 40; tries++) {
		close_to(backoff_rest_s(BACKOFF_FIRST_S, tries, 1), limit);
		limit = fmin(2 * limit, BACKOFF_LONGEST_S);
	}
	close_to(backoff_rest_s(BACKOFF_FIRST_S, UINT32_MAX, 1), BACKOFF_LONGEST_S);
}
