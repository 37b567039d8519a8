/*
 * ranks_test.c - ranks of one job, in threads or processes, that agree on batches and do what
 * the first one tells. SLEEPS most of the time.
 */
#include "loader/base/clock.h"
#include "loader/base/random.h"
#include "profiler/hook/ranks.h"
#include "profiler/io/base/owner.h"
#include "tests/lib/test.h"
#include "tests/lib/trials.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MOST_RANKS = 4,
	SWITCHES = TRIALS_OF(100),
	ORDERS = 3, /* of a switch before it goes on */
	APART = 3,  /* batches that a rank may be ahead of another */
};

/* What the ranks share. */
static struct job {
	struct io_ranks ranks;
	uint32_t world, round;
	_Atomic uint32_t given[MOST_RANKS]; /* batches of each */
	_Atomic uint32_t came[MOST_RANKS]; /* times that it came to where all switch, */
	_Atomic uint32_t orders[MOST_RANKS]; /* and orders that it has done */
	uint32_t at[MOST_RANKS][SWITCHES];   /* before which batches it switched */
	_Atomic uint32_t faults;
} * job;

static int job_setup(void **state)
{
	(void)state;
	job = mmap(NULL, sizeof(*job), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return job == MAP_FAILED ? -1 : 0;
}

static int job_teardown(void **state)
{
	(void)state;
	return munmap(job, sizeof(*job));
}

/* ---- a rank ---- */

static void ranks_joins(struct io_ranks *ranks, uint32_t rank, uint32_t world)
{
	ranks->world = world;
	assert_true(ranks_join(ranks, rank));
}

static bool is_too_far(uint32_t rank)
{
	for (uint32_t i = 0; i < job->world; i++)
		if (job->given[rank] >= job->given[i] + APART)
			return true;
	return false;
}

/* It asks for its next batch when others are near, and some later than others. Returns the
 * batch's number. */
static uint32_t asks(uint32_t rank)
{
	uint32_t batch = job->given[rank] + 1;
	uint64_t draw = random_seed(rank, batch, job->round);

	while (is_too_far(rank))
		sched_yield();
	if (draw % 4 == 0)
		clock_sleep_until(clock_now() + draw / 4 % 100000);
	return batch;
}

/* The nth of all, from 0 on. */
static struct ranks_order order_of(uint32_t nth, bool last)
{
	uint32_t within = nth % (ORDERS + 1);

	return (struct ranks_order){.task = within < ORDERS ? within
					    : last          ? RANKS_END
							    : RANKS_GO,
				    .number = nth,
				    .ns = nth * UINT64_C(3000000000),
				    .share = nth / 8.};
}

static bool is_order(const struct ranks_order *order, uint32_t nth, bool last)
{
	struct ranks_order expected = order_of(nth, last);

	return order->task == expected.task && order->number == expected.number &&
	       order->ns == expected.ns && order->share == expected.share;
}

/* Does what it is told where all switch; false: there is no batch more. */
static bool does(uint32_t rank, uint32_t batch)
{
	uint32_t now = job->came[rank];
	bool last = now == SWITCHES - 1;
	struct ranks_order order = {.task = RANKS_DRAIN};

	job->at[rank][now] = batch;
	atomic_store(&job->came[rank], now + 1);
	while (order.task < RANKS_GO) {
		if (!ranks_await(&job->ranks, rank, &order)) {
			job->faults++;
			return false;
		}
		job->faults += !is_order(&order, job->orders[rank], last);
		atomic_fetch_add(&job->orders[rank], 1);
		ranks_did(&job->ranks, rank);
	}
	return !last;
}

static void follow(uint32_t rank)
{
	bool goes_on = true;

	ranks_joins(&job->ranks, rank, job->world);
	while (goes_on) {
		uint32_t batch = asks(rank);

		if (ranks_come(&job->ranks, batch))
			goes_on = does(rank, batch);
		atomic_fetch_add(&job->given[rank], 1);
	}
	atomic_store(&job->given[rank], UINT32_MAX / 2); /* nobody waits for it */
}

/* ---- the first one ---- */

/* An order is told when all have done what came before it, and are there. */
static void tells(uint32_t now, uint32_t nth)
{
	const struct ranks_order order = order_of(nth, now == SWITCHES - 1);

	assert_true(ranks_tell(&job->ranks, &order));
	for (uint32_t i = 1; i < job->world; i++) {
		assert_true(job->orders[i] >= nth);
		assert_true(job->came[i] > now);
	}
}

/* The batch that it switches before, and goes on with. */
static uint32_t agrees(void)
{
	uint32_t batch = asks(0), wished = batch;

	for (;; batch = asks(0)) {
		bool switches = ranks_come(&job->ranks, batch);

		assert_int_equal(ranks_agree(&job->ranks, batch, job->round), switches);
		if (switches)
			break;
		atomic_fetch_add(&job->given[0], 1);
	}
	assert_true(batch > wished);
	assert_int_equal((batch - wished) % job->round, 0);
	return batch;
}

static void lead(void)
{
	ranks_joins(&job->ranks, 0, job->world);
	for (uint32_t now = 0; now < SWITCHES; now++) {
		uint32_t more = (uint32_t)(random_seed(now, 0, 0) % 3);

		while (more-- > 0) { /* batches of a window */
			assert_false(ranks_come(&job->ranks, asks(0)));
			atomic_fetch_add(&job->given[0], 1);
		}
		job->at[0][now] = agrees();
		for (uint32_t i = 0; i <= ORDERS; i++)
			tells(now, now * (ORDERS + 1) + i);
		atomic_fetch_add(&job->given[0], 1);
	}
	atomic_store(&job->given[0], UINT32_MAX / 2);
}

static void check_job(void)
{
	assert_int_equal(job->faults, 0);
	assert_null(ranks_over(&job->ranks));
	for (uint32_t i = 1; i < job->world; i++) {
		assert_int_equal(job->came[i], SWITCHES);
		assert_int_equal(job->orders[i], SWITCHES * (ORDERS + 1));
		assert_memory_equal(job->at[i], job->at[0], sizeof(job->at[0]));
	}
}

/* ---- jobs ---- */

static void *follow_in_thread(void *rank)
{
	follow((uint32_t)(uintptr_t)rank);
	return NULL;
}

static void run_threads(uint32_t world, uint32_t round)
{
	pthread_t threads[MOST_RANKS];

	memset(job, 0, sizeof(*job));
	job->world = world;
	job->round = round;
	for (uint32_t i = 1; i < world; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, follow_in_thread,
						(void *)(uintptr_t)i),
				 0);
	lead();
	for (uint32_t i = 1; i < world; i++)
		pthread_join(threads[i], NULL);
	check_job();
}

static void run_processes(uint32_t world, uint32_t round)
{
	int status;

	memset(job, 0, sizeof(*job));
	job->world = world;
	job->round = round;
	for (uint32_t i = 1; i < world; i++)
		if (fork() == 0) {
			follow(i);
			_exit(0);
		}
	lead();
	for (uint32_t i = 1; i < world; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	check_job();
}

TEST_WITH(two_ranks_switch_before_the_same_batches, job_setup, job_teardown)
{
	run_threads(2, 1);
	run_processes(2, 1);
}

TEST_WITH(four_ranks_switch_before_the_same_batches, job_setup, job_teardown)
{
	run_threads(4, 1);
	run_processes(4, 1);
}

TEST_WITH(they_switch_after_whole_rounds, job_setup, job_teardown)
{
	run_threads(2, 3);
	run_processes(4, 2);
}

/* ---- the batch ---- */

TEST_WITH(nobody_has_asked_for_the_batch_that_is_agreed_on, job_setup, job_teardown)
{
	struct io_ranks *ranks = &job->ranks;

	ranks_joins(ranks, 0, 2);
	assert_false(ranks_come(ranks, 1));
	assert_false(ranks_come(ranks, 9)); /* of another one, far ahead */
	assert_false(ranks_come(ranks, 8));
	assert_false(ranks_agree(ranks, 2, 4)); /* on twice 4 after it */
	assert_false(ranks_come(ranks, 9));
	assert_true(ranks_come(ranks, 10));
	assert_false(ranks_agree(ranks, 6, 4)); /* that stands */
	assert_true(ranks_agree(ranks, 10, 4));
}

/* ---- who is there ---- */

TEST_WITH(those_that_joined_are_counted, job_setup, job_teardown)
{
	struct io_ranks *ranks = &job->ranks;

	assert_int_equal(ranks_joined(ranks), 0);
	ranks_joins(ranks, 2, 3);
	assert_int_equal(ranks->world, 3);
	assert_int_equal(ranks_joined(ranks), 1);
	ranks_joins(ranks, 2, 3); /* it has another loader */
	assert_int_equal(ranks_joined(ranks), 1);
	ranks_joins(ranks, 0, 3);
	ranks_joins(ranks, 1, 3);
	assert_int_equal(ranks_joined(ranks), 3);
	assert_true(ranks->ranks[0].owner == owner_self());
}

TEST_WITH(the_first_reason_for_an_end_stands, job_setup, job_teardown)
{
	char longer[IO_WHY + 10];

	assert_null(ranks_over(&job->ranks));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ranks_end(&job->ranks, longer);
	assert_int_equal(strlen(ranks_over(&job->ranks)), IO_WHY - 1);
	ranks_end(&job->ranks, "another");
	assert_int_equal(ranks_over(&job->ranks)[0], 'x');
}

TEST_WITH(what_is_over_is_neither_told_nor_awaited, job_setup, job_teardown)
{
	struct ranks_order order = {.task = RANKS_DRAIN};

	ranks_joins(&job->ranks, 0, 2);
	ranks_joins(&job->ranks, 1, 2);
	ranks_end(&job->ranks, "enough");
	assert_false(ranks_tell(&job->ranks, &order));
	assert_false(ranks_await(&job->ranks, 1, &order));
	assert_string_equal(ranks_over(&job->ranks), "enough");
}

/* A process that joins, and comes to where all switch or not, and is gone. */
static void join_and_end(uint32_t rank, bool comes)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		ranks_joins(&job->ranks, rank, 2);
		job->ranks.ranks[rank].came = comes;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void end_of_last(bool comes)
{
	const struct ranks_order order = {.task = RANKS_DRAIN};

	memset(job, 0, sizeof(*job));
	ranks_joins(&job->ranks, 0, 2);
	join_and_end(1, comes);
	if (comes)
		assert_true(ranks_tell(&job->ranks, &order)); /* it does not do that */
	assert_false(ranks_tell(&job->ranks, &order));
	assert_string_equal(ranks_over(&job->ranks), "rank 1 of 2 has ended");
	assert_false(ranks_tell(&job->ranks, &order));
}

TEST_WITH(a_rank_that_is_gone_ends_it, job_setup, job_teardown)
{
	end_of_last(false);
	end_of_last(true);
}

TEST_WITH(the_end_of_the_first_one_is_seen_by_others, job_setup, job_teardown)
{
	struct ranks_order order;

	ranks_joins(&job->ranks, 1, 2);
	join_and_end(0, false);
	assert_false(ranks_await(&job->ranks, 1, &order));
	assert_string_equal(ranks_over(&job->ranks), "rank 0 of 2 has ended");
}
