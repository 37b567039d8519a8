/*
 * hook_ranks_test.c - a loader of the first rank of a job in the windows of a session: what the
 * other rank, which a thread plays, is told, and how the job ends. SLEEPS while they wait for
 * each other.
 */
#include "loader/base/clock.h"
#include "profiler/hook/ranks.h"
#include "profiler/io/base/owner.h"
#include "tests/lib/test.h"
#include "tests/unit/profiler/hook/fake_loader.h"

#include <pthread.h>
#include <stdatomic.h>

static void ranks_joins(struct io_ranks *ranks, uint32_t rank, uint32_t world)
{
	ranks->world = world;
	assert_true(ranks_join(ranks, rank));
}

enum { APART = 2 }; /* batches that the other rank may be ahead */

static struct other {
	pthread_t thread;
	bool runs;
	_Atomic uint32_t first; /* the batch that the first rank asks for */
	_Atomic bool leaves;    /* it is to end by itself */
	uint32_t switched,
		ends;    /* the last batches before which it switched, or ended */
	uint32_t listed; /* batches */
	uint64_t seed, step_ns;
	double share;
	char log[1024]; /* what it was told */
} other;

/* ---- the other rank ---- */

static void heard(const struct ranks_order *order)
{
	static const char *const names[] = {" drain", " list", " files", " start",
					    " make",  " go",   " leave", " end"};
	size_t length = strlen(other.log);
	int more = -1;

	if (order->task == RANKS_START || order->task == RANKS_MAKE)
		more = (int)order->number;
	if (order->task == RANKS_FILES)
		more = (int)(100 * order->share + .5);
	if (order->task == RANKS_LIST)
		other.listed = order->number;
	if (order->task == RANKS_FILES)
		other.seed = order->ns;
	if (order->task == RANKS_START)
		other.step_ns = order->ns;
	if (more < 0)
		snprintf(other.log + length, sizeof(other.log) - length, "%s",
			 names[order->task]);
	else
		snprintf(other.log + length, sizeof(other.log) - length, "%s%d",
			 names[order->task], more);
}

/* False: there is no batch more for it. */
static bool switches(struct io_ranks *ranks, uint32_t batch)
{
	struct ranks_order order = {.task = RANKS_DRAIN};

	while (order.task < RANKS_GO) {
		if (!ranks_await(ranks, 1, &order))
			return false;
		heard(&order);
		ranks_did(ranks, 1);
	}
	other.switched = batch;
	if (order.task != RANKS_GO)
		other.ends = batch;
	return order.task == RANKS_GO;
}

static void *other_rank(void *page)
{
	struct io_ranks *ranks = &((struct io_page *)page)->ranks;
	bool goes_on = true;

	for (uint32_t batch = 1; goes_on; batch++) {
		while (batch > other.first + APART && ranks_over(ranks) == NULL &&
		       !other.leaves)
			clock_sleep_until(clock_now() + 50000);
		if (other.leaves)
			ranks_end(ranks, "the other one leaves");
		if (ranks_over(ranks) != NULL)
			break;
		goes_on = !ranks_come(ranks, batch) || switches(ranks, batch);
	}
	return NULL;
}

static void other_begins(void)
{
	ranks_joins(&fake.page->ranks, 1, 2);
	assert_int_equal(pthread_create(&other.thread, NULL, other_rank, fake.page), 0);
	other.runs = true;
}

static void other_joins(void)
{
	if (other.runs)
		pthread_join(other.thread, NULL);
	other.runs = false;
}

/* ---- the first one ---- */

/* False: it is to end. */
static bool step(void)
{
	other.first++;
	return fake_step();
}

static void train(const struct trace_window *window)
{
	for (int i = 0; i < 100000 && window->state < TRACE_DONE; i++)
		assert_true(step());
	assert_int_equal(window->state, TRACE_DONE);
}

static int begin_alone(void **state)
{
	int result = begin_page(state);

	other = (struct other){.ends = 0};
	if (result < 0 || !dsa_hook_join(0, 2))
		return -1;
	return dsa_hook_open(&fake_about, &fake_calls);
}

static int begin_first(void **state)
{
	int result = begin_alone(state);

	if (result == 0)
		other_begins();
	return result;
}

static int end_first(void **state)
{
	ranks_end(&fake.page->ranks, "the test is over");
	other_joins();
	return end(state);
}

/* ---- what is told ---- */

TEST_WITH(it_is_a_rank_of_so_many, begin_page, end)
{
	assert_false(dsa_hook_join(0, IO_RANKS + 1));
	assert_false(dsa_hook_join(2, 2));
	assert_false(dsa_hook_join(1, 2)); /* whose page can't be had */
	assert_int_equal(fake.page->world, 0);
	assert_int_equal(dsa_hook_open(&fake_about, &fake_calls), 0);
	assert_null(dsa_hook_over());
	assert_int_equal(fake.page->ranks.world, 0);
	assert_false(dsa_hook_left()); /* it is none */
	fake_train(asked(TRACE_SYNTHETIC, 0, 0));
	assert_true(dsa_hook_join(0, IO_RANKS));
	assert_int_equal(fake.page->rank, 1);
	assert_int_equal(fake.page->world, IO_RANKS);
}

TEST_WITH(the_other_is_told_what_its_loader_is_asked_for, begin_first, end_first)
{
	struct trace_window *synthetic = asked(TRACE_SYNTHETIC, 2, 0);
	struct trace_window *cached = asked(TRACE_CACHED, 2, 0);
	struct trace_window *real = asked(TRACE_REAL, 3, TRACE_WARM);
	struct trace_window *prep = asked(TRACE_PREP, 3, 0);
	struct trace_window *drawn = asked(TRACE_REAL, 3, TRACE_DRAW);

	drawn->hit = 0.75;
	prep->workers = 2;
	train(real);
	assert_true(synthetic->steps >= synthetic->min_steps);
	assert_true(cached->steps >= cached->min_steps);
	assert_true(real->steps >= real->min_steps);
	train(drawn);
	assert_true(prep->state == TRACE_DONE && drawn->steps >= drawn->min_steps);
	atomic_store(&driven.trace->stop, 1);
	while (step())
		;
	other_joins();
	assert_string_equal(other.log, " drain list start2 go"
				       " drain files0 start1 go"
				       " drain files0 start1 go"
				       " drain files0 make2 make2 drain"
				       " drain files25 start1 go"
				       " drain start0 go end");
	assert_int_equal(other.listed, fake.listed);
	assert_true(fake.listed >= 2 + 8 + RANKS_BEYOND);
	assert_asked(" drain clear list pool drain read100 list! drain read100 list! "
		     "drain read100 make2 make2 drain drain read100 evict25 list! "
		     "drain stream");
	assert_true(proven(synthetic, NULL) && proven(cached, NULL) &&
		    proven(real, NULL));
}

/* So that workers of a loaded window, and what a window's files are, are as in the first one. */
TEST_WITH(the_other_has_its_pace_and_its_seed, begin_first, end_first)
{
	struct trace_window *real = asked(TRACE_REAL, 0, 0), *loaded;
	uint64_t seed;

	train(real);
	seed = other.seed;
	loaded = asked(TRACE_LOADED, 0, 0);
	while (loaded->begin.time_ns == 0)
		assert_true(step());
	assert_int_equal(other.step_ns, fake.page->step_ns);
	assert_true(other.step_ns > 0);
	assert_int_not_equal(other.seed, seed);
}

/* ---- the end ---- */

TEST_WITH(the_stop_flag_ends_both_before_the_same_batch, begin_first, end_first)
{
	struct trace_window *window = asked(TRACE_SYNTHETIC, 0, 0);

	window->length_ns = UINT64_MAX / 2;
	while (window->steps < 3)
		assert_true(step());
	atomic_store(&driven.trace->stop, 1);
	while (step())
		assert_int_equal(window->state, TRACE_RUNNING);
	other_joins();
	assert_int_equal(other.ends, other.first);
	assert_true(other.switched > 3);
	assert_string_equal(other.log, " drain list start2 go end");
	assert_int_equal(window->state, TRACE_DONE);
	assert_null(dsa_hook_over());
	assert_true(dsa_hook_stopped());
	assert_int_equal(dsa_hook_request(clock_now()), 0);
	assert_null(dsa_hook_over());
}

TEST_WITH(without_dsa_both_go_on_from_the_same_batch, begin_first, end_first)
{
	assert_true(dsa_hook_left()); /* until all have come together */
	train(asked(TRACE_CACHED, 0, 0));
	assert_false(dsa_hook_left());
	driven.trace->dsa_start++; /* nobody has that pid and that start */
	while (!dsa_hook_left())
		assert_true(step());
	other_joins();
	assert_int_equal(other.ends, other.first);
	assert_non_null(strstr(other.log, " leave"));
	assert_int_equal(fake.source, HOOK_STREAM);
	for (int i = 0; i < 10; i++)
		assert_true(step());
	assert_null(dsa_hook_over());
}

TEST_WITH(where_a_call_fails_it_is_over, begin_first, end_first)
{
	const struct trace_window *window = asked(TRACE_SYNTHETIC, 0, 0);

	fake.fails = "pool";
	while (step())
		;
	other_joins();
	assert_string_equal(other.log, " drain list start2");
	assert_int_equal(window->state, TRACE_REFUSED);
	assert_string_equal(dsa_hook_over(),
			    "the loader of its first rank failed in a window");
}

/* ---- what comes between ---- */

TEST_WITH(what_the_other_ends_is_over, begin_first, end_first)
{
	train(asked(TRACE_SYNTHETIC, 0, 0));
	assert_null(dsa_hook_over());
	other.leaves = true;
	other_joins();
	assert_int_equal(dsa_hook_request(clock_now()), 0);
	assert_string_equal(dsa_hook_over(), "the other one leaves");
	assert_true(dsa_hook_left());
}

/* Where it was told something, and does not do it. */
TEST_WITH(another_that_is_gone_in_a_switch_is_over, begin_alone, end_first)
{
	struct io_ranks *ranks = &fake.page->ranks;
	struct trace_window *window = asked(TRACE_SYNTHETIC, 0, 0);

	ranks_joins(ranks, 1, 2);
	ranks->ranks[1].owner += UINT64_C(1) << IO_PID_BITS; /* it had that pid */
	ranks->ranks[1].came = 1;
	while (step())
		;
	assert_string_equal(dsa_hook_over(), "rank 1 of 2 has ended");
	assert_int_equal(window->state, TRACE_REFUSED);
	assert_asked(" drain");
}

TEST_WITH(one_that_ends_by_itself_ends_all, begin_first, end_first)
{
	train(asked(TRACE_SYNTHETIC, 0, 0));
	dsa_hook_close();
	assert_string_equal(ranks_over(&fake.page->ranks),
			    "one of its ranks ended by itself");
}

/* No window was: others count batches from those of that loader on. */
TEST_WITH(a_first_one_that_closes_before_they_came_together_ends_all, begin_first,
	  end_first)
{
	for (int i = 0; i < 5; i++)
		assert_true(step());
	dsa_hook_close();
	assert_non_null(ranks_over(&fake.page->ranks));
}

TEST_WITH(ranks_that_do_not_come_are_told_of, begin_alone, end_first)
{
	const struct trace_window *window = asked(TRACE_SYNTHETIC, 0, 0);
	unsigned steps = 0;

	while (step())
		steps++;
	assert_int_equal(steps, 64);
	assert_int_equal(window->state, TRACE_ASKED);
	assert_non_null(strstr(dsa_hook_over(), "only 1 of the job's 2 ranks"));
	assert_string_equal(fake.log, "");
}

/* What samples take is counted, once all are at rest. */
TEST_WITH(work_is_counted_where_they_agreed_to, begin_first, end_first)
{
	driven.trace->observe = 1;
	driven.trace->until_samples = 100;
	while (step())
		;
	other_joins();
	assert_string_equal(other.log, " drain end");
	assert_int_equal(other.ends, other.first);
	assert_asked(" drain count");
	assert_null(dsa_hook_over());
}
