/* rank_loads_test.c - what ranks of a page waited, in a result. */
#include "profiler/io_page.h"
#include "profiler/preload/rank_loads.h"
#include "profiler/profile.h"
#include "tests/lib/test.h"

#include <stdlib.h>

#define WAITED_NS UINT64_C(2000000) /* for a batch, of the first rank */

static struct io_page *page;
static struct profile profile;

static int begin(void **state)
{
	(void)state;
	page = calloc(1, sizeof(*page));
	profile_init(&profile);
	return page != NULL ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(page);
	profile_free(&profile);
	return 0;
}

/* A step takes 20 ms. */
static void ranks_waited(uint32_t world)
{
	profile.batch = 8;
	profile.rates[TRACE_REAL].value = 400;
	page->ranks.world = world;
	for (uint32_t i = 0; i < world && i < IO_RANKS; i++) {
		page->ranks.ranks[i].owner = UINT64_C(9) << IO_PID_BITS | (100 + i);
		page->ranks.ranks[i].batches = 10;
		page->ranks.ranks[i].blocked_ns = 10 * WAITED_NS * (i + 1);
	}
}

TEST_WITH(each_rank_has_its_share_of_a_step, begin, end)
{
	ranks_waited(2);
	assert_int_equal(rank_loads_add(page, &profile), 0);
	assert_int_equal(profile.rank_count, 2);
	assert_int_equal(profile.ranks[1].rank, 1);
	assert_int_equal(profile.ranks[1].ranks, 2);
	assert_int_equal(profile.ranks[1].pid, 101);
	assert_float_equal(profile.ranks[0].blocked_share, .1, 1e-6);
	assert_float_equal(profile.ranks[1].blocked_share, .2, 1e-6);
	assert_true(profile.ranks[0].communicator == UNKNOWN);
}

TEST_WITH(ranks_that_were_not_measured_have_none, begin, end)
{
	assert_int_equal(rank_loads_add(page, &profile), 0);
	ranks_waited(IO_RANKS + 1); /* the program writes the page */
	assert_int_equal(rank_loads_add(page, &profile), 0);
	ranks_waited(2);
	page->ranks.ranks[1].batches = 0;
	assert_int_equal(rank_loads_add(page, &profile), 0);
	assert_int_equal(profile.rank_count, 0);
}
