/* hedge_test.c - which answers are late, and how many requests are sent twice. */
#include "loader/fetch/hedge.h"
#include "tests/lib/test.h"

#include <stdint.h>

#define MS UINT64_C(1000000)

/* Answers of 50 to 59 ms, every so manieth 2 s. */
static void answers(struct hedge *hedge, unsigned count, unsigned slow)
{
	for (unsigned i = 0; i < count; i++)
		hedge_answer(hedge,
			     (slow > 0 && i % slow == slow - 1 ? 2000 : 50 + i % 10) *
				     MS);
}

TEST(nothing_is_late_before_there_are_answers_enough)
{
	struct hedge hedge = {.requests = 1000};

	answers(&hedge, HEDGE_LEAST - 1, 0);
	assert_false(hedge_may(&hedge));
	answers(&hedge, 1, 0);
	assert_true(hedge_may(&hedge));
	assert_in_range(hedge.late_ns, 58 * MS, 59 * MS);
}

TEST(one_in_a_hundred_does_not_make_late_what_it_took)
{
	struct hedge hedge = {.requests = 1000};

	answers(&hedge, 1000, 100);
	assert_in_range(hedge.late_ns, 59 * MS, 59 * MS);
	answers(&hedge, 1000, 10); /* a server that became slow */
	assert_int_equal(hedge.late_ns, 2000 * MS);
	answers(&hedge, 1000, 0); /* and was forgotten */
	assert_int_equal(hedge.late_ns, 59 * MS);
}

TEST(a_bounded_share_is_hedged)
{
	struct hedge hedge = {.requests = 0};

	answers(&hedge, 200, 0);
	for (hedge.requests = 0; hedge.requests < 1000; hedge.requests++)
		hedge.hedged += hedge_may(&hedge);
	assert_in_range(hedge.hedged, 48, 50);
	hedge.requests = 100000;
	hedge.under_way = HEDGE_AT_ONCE;
	assert_false(hedge_may(&hedge));
}
