/* depth_test.c - requests in flight, of servers and programs from tables. */
#include "loader/pipeline/depth.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { BATCH = 32, PLACES = 6 * BATCH, MOST = 256, BEGIN = 16 };

#define NEVER INFINITY

/* A server that answers after a while, and so many a second at the most; a program that
 * computes so many samples a second, and so many in the second half. */
struct world {
	double latency_s, answers_per_s, computes_per_s, later_per_s;
	double seconds;

	/* What came of it. */
	struct depth depth;
	double waited_s; /* in the second half */
	unsigned low, high;
};

/* Answers come in the order of the requests. */
struct requests {
	double sent[MOST], due[MOST];
	uint64_t first, next;
};

static uint64_t ns(double s)
{
	return (uint64_t)(s * 1e9) + 1;
}

static void ask(struct requests *requests, const struct world *world, double now)
{
	double before =
		requests->next > 0 ? requests->due[(requests->next - 1) % MOST] : 0;

	requests->sent[requests->next % MOST] = now;
	requests->due[requests->next++ % MOST] =
		fmax(now + world->latency_s, before + 1 / world->answers_per_s);
}

static void answer(struct requests *requests, struct world *world, double now)
{
	double sent = requests->sent[requests->first++ % MOST];
	unsigned depth;

	depth_answer(&world->depth, ns(now), ns(now) - ns(sent));
	depth = world->depth.now;
	if (now < world->seconds / 2)
		return;
	world->low = depth < world->low ? depth : world->low;
	world->high = depth > world->high ? depth : world->high;
}

/* The program takes a batch when it has computed the one before, and all of it came. */
static void play(struct world *world)
{
	struct requests requests = {.first = 0};
	double now = 0, asks = 0;
	uint64_t taken = 0;

	depth_init(&world->depth, BEGIN, MOST);
	depth_watch(&world->depth, ns(0));
	world->low = MOST;
	while (now < world->seconds) {
		double due = requests.due[requests.first % MOST];
		bool wants = asks <= now;

		if (wants && requests.first >= taken + BATCH) {
			if (now > world->seconds / 2)
				world->waited_s += now - asks;
			depth_take(&world->depth, ns(now), BATCH);
			taken += BATCH;
			asks = now + BATCH / (now < world->seconds / 2
						      ? world->computes_per_s
						      : world->later_per_s);
		} else if (requests.next < taken + PLACES &&
			   requests.next - requests.first < world->depth.now) {
			ask(&requests, world, now);
		} else if (requests.first == requests.next || (!wants && asks < due)) {
			now = asks;
		} else {
			if (wants)
				depth_wait(&world->depth, ns(now));
			now = due;
			answer(&requests, world, now);
		}
	}
}

TEST(by_littles_law)
{
	assert_int_equal(depth_needed(.055, 77), 5); /* 100 kB from S3, of DELI */
	assert_int_equal(depth_needed(.055, 1000), 55);
	assert_int_equal(depth_needed(.002, 100), 1);
	assert_int_equal(depth_needed(0, 100), 0);
}

TEST(as_many_as_the_program_and_the_server_need)
{
	static const struct {
		double latency_s, answers_per_s, computes_per_s, later_per_s;
		unsigned low, high; /* requests in flight, in the end */
		double waited;      /* share of the time, at the most */
	} rows[] = {
		/* Few are enough: */
		{.055, 1e9, 77, 77, 5, 6, .02},
		{.020, 1e9, 77, 77, 2, 4, .02},
		{.002, 1e9, 100, 100, 1, 2, .02},
		/* more than at the beginning are: */
		{.055, 1e9, 500, 500, 28, 64, .05},
		{.055, 1e9, 1000, 1000, 56, 128, .05},
		{.055, 1e9, 77, 1000, 56, 128, .05},
		/* fewer are again: */
		{.055, 1e9, 1000, 77, 5, 6, .02},
		/* as many as there may be are not: */
		{.055, 1e9, 1e9, 1e9, 192, 256, 1.1},
		/* more would bring nothing, as 20,000 objects of 10 kB on one core: */
		{.0001, 5000, 1e9, 1e9, 1, 32, 1.1},
		{.010, 800, 1e9, 1e9, 8, 32, 1.1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world world = {.latency_s = rows[i].latency_s,
				      .answers_per_s = rows[i].answers_per_s,
				      .computes_per_s = rows[i].computes_per_s,
				      .later_per_s = rows[i].later_per_s,
				      .seconds = 120};

		play(&world);
		print_message(
			"%g s, %g/s for %g/s: %u (%u .. %u) in flight, waited %.3f\n",
			rows[i].latency_s, rows[i].answers_per_s, rows[i].later_per_s,
			world.depth.now, world.low, world.high, world.waited_s / 60);
		assert_in_range(world.depth.now, rows[i].low, rows[i].high);
		assert_true(world.waited_s <= 60 * rows[i].waited);
	}
}
