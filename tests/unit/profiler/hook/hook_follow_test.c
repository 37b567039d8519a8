/*
 * hook_follow_test.c - a loader of another rank of a job than the first, which a thread plays:
 * it does what it is told, where all switch.
 */
#include "loader/base/clock.h"
#include "profiler/hook/ranks.h"
#include "tests/lib/test.h"
#include "tests/unit/profiler/hook/fake_loader.h"

#include <pthread.h>

static void ranks_joins(struct io_ranks *ranks, uint32_t rank, uint32_t world)
{
	ranks->world = world;
	assert_true(ranks_join(ranks, rank));
}

/* The first rank, and what it tells where all switch. */
static struct first {
	pthread_t thread;
	const struct ranks_order *orders;
	bool told; /* all of them were followed */
} first;

static void *first_rank(void *page)
{
	struct io_ranks *ranks = &((struct io_page *)page)->ranks;
	const struct ranks_order *order = first.orders;

	while (ranks_tell(ranks, order) && order->task < RANKS_GO)
		order++;
	first.told = ranks_over(ranks) == NULL;
	return NULL;
}

/* All switch before the next batch that nobody asked for. */
static void first_tells(const struct ranks_order *orders)
{
	struct io_ranks *ranks = &fake.page->ranks;

	assert_false(ranks_agree(ranks, 0, 1));
	first.orders = orders;
	assert_int_equal(pthread_create(&first.thread, NULL, first_rank, fake.page), 0);
}

static bool first_is_followed(void)
{
	pthread_join(first.thread, NULL);
	return first.told;
}

static int begin_other(void **state)
{
	int result = begin_page(state);

	fake.ranks = 2;
	if (result < 0 || !dsa_hook_join(1, 2))
		return -1;
	ranks_joins(&fake.page->ranks, 0, 2);
	return dsa_hook_open(&fake_about, &fake_calls);
}

/* ---- what it is told ---- */

TEST_WITH(one_without_a_page_joins_no_job, begin_page, end)
{
	assert_false(dsa_hook_join(1, 2));
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), 0);
	assert_int_equal(driven.trace->loader_ready, 1); /* it drives alone */
}

TEST_WITH(it_is_no_driver, begin_other, end)
{
	assert_int_equal(ranks_joined(&fake.page->ranks), 2);
	assert_int_equal(driven.trace->loader_ready, 0);
	assert_int_equal(driven.trace->driver, 0);
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), -EBUSY);
	assert_int_equal(fake.page->rank, 1); /* the first one is told of */
}

/* Nor does it matter which rank is there first. */
TEST_WITH(it_says_how_many_there_are, begin_page, end)
{
	struct io_ranks *ranks = &fake.page->ranks;

	fake.ranks = 2;
	assert_true(dsa_hook_join(1, 2));
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), 0);
	assert_int_equal(ranks->world, 2);
	assert_int_equal(ranks_joined(ranks), 1);
}

TEST_WITH(it_does_what_it_is_told_where_all_switch, begin_other, end)
{
	static const struct ranks_order orders[] = {
		{.task = RANKS_DRAIN},
		{.task = RANKS_LIST, .number = 25},
		{.task = RANKS_FILES, .share = 0},
		{.task = RANKS_MAKE, .number = 2, .ns = 1000},
		{.task = RANKS_DRAIN},
		{.task = RANKS_FILES, .ns = 5, .share = 0.25},
		{.task = RANKS_START, .number = HOOK_LIST, .ns = 77},
		{.task = RANKS_GO}};

	assert_true(fake_step() && fake_step());
	first_tells(orders);
	assert_true(fake_step());
	assert_true(first_is_followed());
	assert_asked(" drain clear list read100 make2 drain read100 evict25 list!");
	assert_int_equal(fake.listed, 25);
	assert_int_equal(fake.page->listing, 0);
	assert_int_equal(fake.page->step_ns, 77);
	assert_int_equal(fake.page->loaded, 0);
	assert_true(fake_step() &&
		    fake_step()); /* none of these is one to switch before */
	assert_asked(" drain clear list read100 make2 drain read100 evict25 list!");
}

TEST_WITH(its_workers_are_told_of_a_loaded_window, begin_other, end)
{
	static const struct ranks_order loads[] = {
		{.task = RANKS_DRAIN},
		{.task = RANKS_START, .number = HOOK_LOADED, .ns = 5000},
		{.task = RANKS_GO}};
	static const struct ranks_order rests[] = {
		{.task = RANKS_DRAIN},
		{.task = RANKS_START, .number = HOOK_STREAM},
		{.task = RANKS_GO}};
	struct io_page *page = fake.page;

	page->given = 100;
	assert_true(fake_step());
	assert_int_equal(page->given, 101);
	first_tells(loads);
	assert_true(fake_step());
	assert_true(first_is_followed());
	assert_int_equal(page->loaded, fake_about.workers * fake_about.prefetch);
	assert_int_equal(page->loaded_from, page->batch_count);
	assert_int_equal(page->step_ns, 5000);
	assert_int_equal(page->given, 1);
	first_tells(rests);
	assert_true(fake_step());
	assert_true(first_is_followed());
	assert_int_equal(page->loaded, 0);
	assert_asked(" drain loaded drain stream");
}

/* They wait for steps of the program no more, which may go on. */
static void ends_loaded(void (*way)(void))
{
	static const struct ranks_order loads[] = {
		{.task = RANKS_DRAIN},
		{.task = RANKS_START, .number = HOOK_LOADED},
		{.task = RANKS_GO}};

	first_tells(loads);
	assert_true(fake_step());
	assert_true(first_is_followed());
	assert_true(fake.page->loaded > 0);
	way();
	assert_int_equal(fake.page->loaded, 0);
}

static void cuts(void)
{
	dsa_hook_cut(0);
}

static void is_over(void)
{
	ranks_end(&fake.page->ranks, "enough");
	assert_false(fake_step());
}

static void is_told_the_end(void)
{
	static const struct ranks_order ends[] = {{.task = RANKS_END}};

	first_tells(ends);
	assert_false(fake_step());
	assert_true(first_is_followed());
}

TEST_WITH(a_loaded_window_ends_with_its_epoch, begin_other, end)
{
	ends_loaded(cuts);
}

TEST_WITH(a_loaded_window_ends_with_the_job, begin_other, end)
{
	ends_loaded(is_told_the_end);
}

TEST_WITH(a_loaded_window_ends_when_it_is_over, begin_other, end)
{
	ends_loaded(is_over);
}

TEST_WITH(a_loaded_window_ends_when_its_loader_closes, begin_other, end)
{
	ends_loaded(dsa_hook_close);
}

/* ---- the end ---- */

TEST_WITH(it_ends_where_all_do, begin_other, end)
{
	static const struct ranks_order orders[] = {
		{.task = RANKS_DRAIN},
		{.task = RANKS_START, .number = HOOK_STREAM},
		{.task = RANKS_GO},
	};
	static const struct ranks_order ends[] = {{.task = RANKS_END}};

	assert_true(dsa_hook_left()); /* until all have come together */
	first_tells(orders);
	assert_true(fake_step());
	assert_true(first_is_followed());
	assert_false(dsa_hook_left());
	assert_false(dsa_hook_stopped());
	first_tells(ends);
	assert_false(fake_step());
	assert_true(first_is_followed());
	assert_true(dsa_hook_stopped());
	assert_int_equal(dsa_hook_request(clock_now()), 0);
	assert_null(dsa_hook_over());
	assert_asked(" drain stream");
	dsa_hook_close();
	assert_null(ranks_over(&fake.page->ranks));
}

TEST_WITH(without_dsa_it_goes_on, begin_other, end)
{
	static const struct ranks_order orders[] = {{.task = RANKS_LEAVE}};

	first_tells(orders);
	assert_true(fake_step());
	assert_true(first_is_followed());
	assert_true(dsa_hook_left());
	ranks_end(&fake.page->ranks, "who cares");
	assert_true(fake_step());
	assert_null(dsa_hook_over());
}

TEST_WITH(it_stops_when_it_is_over, begin_other, end)
{
	assert_true(fake_step());
	ranks_end(&fake.page->ranks, "enough");
	assert_string_equal(dsa_hook_over(), "enough");
	assert_false(fake_step());
}

TEST_WITH(what_fails_in_it_ends_all, begin_other, end)
{
	static const struct ranks_order orders[] = {{.task = RANKS_DRAIN},
						    {.task = RANKS_LIST, .number = 5},
						    {.task = RANKS_GO}};

	fake.fails = "list";
	first_tells(orders);
	assert_false(fake_step());
	assert_false(first_is_followed());
	assert_string_equal(dsa_hook_over(), "the loader of another rank than the "
					     "first failed in a window");
	assert_asked(" drain clear list");
}

TEST_WITH(what_it_refuses_ends_all, begin_other, end)
{
	dsa_hook_refuse("it has no loader");
	assert_string_equal(ranks_over(&fake.page->ranks), "it has no loader");
	assert_int_equal(driven.trace->unmeasured, 0);
}

TEST_WITH(one_that_ends_by_itself_ends_all, begin_other, end)
{
	static const struct ranks_order orders[] = {{.task = RANKS_DRAIN},
						    {.task = RANKS_GO}};

	first_tells(orders);
	assert_true(fake_step());
	assert_true(first_is_followed());
	dsa_hook_close();
	assert_string_equal(ranks_over(&fake.page->ranks),
			    "one of its ranks ended by itself");
}

/* As the first one's does, when the program had another loader before. */
TEST_WITH(another_loader_follows_one_that_closed, begin_other, end)
{
	static const struct ranks_order orders[] = {{.task = RANKS_DRAIN},
						    {.task = RANKS_GO}};

	assert_true(fake_step());
	dsa_hook_close();
	assert_null(ranks_over(&fake.page->ranks));
	assert_true(dsa_hook_left());
	assert_int_equal(dsa_hook_request(clock_now()), 0);
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), 0);
	first_tells(orders); /* behind the batches of the one before */
	assert_true(fake_step() && fake_step());
	assert_true(first_is_followed());
}
