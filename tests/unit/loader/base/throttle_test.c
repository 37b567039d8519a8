#include "loader/base/clock.h"
#include "loader/base/throttle.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <pthread.h>

#define MS 1000000u

/* Far enough ahead that the clock does not reach it while a test runs. */
static uint64_t later(void)
{
	return clock_now() + (uint64_t)3600 * 1000 * MS;
}

TEST(unlimited_lets_everything_pass_at_once)
{
	struct throttle *throttle = throttle_new(0, 0);
	struct throttle_stats stats;

	for (int i = 0; i < 100; i++)
		assert_true(throttle_release(throttle, clock_now(), 1 << 20) <=
			    clock_now());
	throttle_stats(throttle, &stats);
	assert_int_equal(stats.reads, 100);
	assert_int_equal(stats.bytes, 100 << 20);
	assert_int_equal(stats.busy_ns, 0);
	assert_int_equal(stats.delay_ns, 0);
	throttle_free(throttle);
}

TEST(transfers_follow_one_another_without_a_gap)
{
	struct throttle *throttle = throttle_new(1e3, 0); /* 1 ms a byte */
	uint64_t first = throttle_release(throttle, clock_now(), 1000000);

	for (unsigned i = 1; i <= 50; i++)
		assert_int_equal(throttle_release(throttle, clock_now(), 110000),
				 first + i * (uint64_t)110000 * MS);
	throttle_free(throttle);
}

/* A full bucket lets one sample through; the next waits for its own bytes. */
TEST(the_burst_is_one_sample)
{
	struct throttle *throttle = throttle_new(1e3, 0); /* 1 ms a byte */
	uint64_t soon = 1000 * MS; /* after the machine began: its read takes longer */
	uint64_t first = throttle_release(throttle, soon, 5000);

	assert_int_equal(first, soon);
	assert_int_equal(throttle_release(throttle, soon, 7000),
			 first + (uint64_t)7000 * MS);
	throttle_free(throttle);
}

TEST(latencies_run_side_by_side)
{
	struct throttle *throttle = throttle_new(0, 0.005);
	uint64_t start = later();

	for (int i = 0; i < 16; i++)
		assert_int_equal(throttle_release(throttle, start, 1000),
				 start + 5 * MS);
	throttle_free(throttle);
}

TEST(a_read_waits_for_the_slower_of_latency_and_bandwidth)
{
	struct throttle *throttle = throttle_new(1e3, 1);
	uint64_t start = clock_now();

	throttle_release(throttle, start, 1000);
	assert_int_equal(throttle_release(throttle, start, 10), start + 1000 * MS);
	assert_int_equal(throttle_release(throttle, start, 9000),
			 start + (uint64_t)9010 * MS);
	throttle_free(throttle);
}

TEST(a_reset_forgets_what_is_owed)
{
	struct throttle *throttle = throttle_new(1, 0);

	throttle_release(throttle, clock_now(), 1000);
	assert_true(throttle_release(throttle, clock_now(), 1000) > clock_now());
	throttle_reset(throttle);
	assert_true(throttle_release(throttle, clock_now(), 1000) <= clock_now());
	throttle_free(throttle);
}

TEST(delays_and_busy_time_are_counted)
{
	struct throttle *throttle = throttle_new(1e6, 0);
	uint64_t start = later(), delay = 0;
	struct throttle_stats stats;

	for (unsigned i = 0; i < 4; i++)
		delay += throttle_release(throttle, start, 50000000) - start;
	throttle_stats(throttle, &stats);
	assert_int_equal(stats.busy_ns, (uint64_t)4 * 50000 * MS);
	assert_int_equal(delay, (uint64_t)(0 + 1 + 2 + 3) * 50000 * MS);
	/* Counted from when it was asked, which is earlier than `start`. */
	assert_in_range(stats.delay_ns, delay, delay + 4 * (uint64_t)3600 * 1000 * MS);
	throttle_free(throttle);
}

TEST(what_was_overslept_is_made_up)
{
	struct throttle *throttle = throttle_new(1e6, 0);
	uint64_t due = throttle_release(throttle, 1000 * MS, 1000);

	assert_int_equal(due, 1000 * MS);
	for (unsigned i = 1; i <= 100; i++) {
		due = throttle_release(throttle, due, 1000); /* long past by now */
		assert_int_equal(due, (1000 + i) * MS);
	}
	throttle_free(throttle);
}

static void *release_many(void *throttle)
{
	for (int i = 0; i < 10000; i++)
		throttle_release(throttle, 0, 1000000);
	return NULL;
}

TEST(threads_share_one_bucket)
{
	struct throttle *throttle = throttle_new(1e6, 0); /* 1 s a read */
	uint64_t first = throttle_release(throttle, 1000 * MS, 1000000);
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, release_many, throttle);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(throttle_release(throttle, 0, 1000000),
			 first + (uint64_t)40001 * 1000 * MS);
	throttle_free(throttle);
}

TEST(no_memory_is_no_throttle)
{
	nomem_at(1);
	assert_null(throttle_new(1, 1));
	nomem_at(0);
}
