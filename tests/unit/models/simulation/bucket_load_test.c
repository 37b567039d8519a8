/* bucket_load_test.c - loads whose storage is a bucket, or whose cache is on disk. */
#include "tests/lib/load.h"
#include "tests/lib/test.h"

#define ANSWER_S .04

static struct simulation_load bucket_load(void)
{
	struct simulation_load load = load_plain();

	load.answer_s = ANSWER_S;
	load.fetch_threads = 1;
	load.compute_s = 1e-5;
	return load;
}

static void expect(const struct simulation_load *load, double per_s, double within)
{
	double is = load_run(load, 5000).per_s;

	if (!(fabs(is / per_s - 1) <= within))
		fail_msg("%.6g is not %.6g", is, per_s);
}

TEST(answers_in_flight_follow_littles_law)
{
	struct simulation_load load = bucket_load();

	for (load.depth = 1; load.depth <= 16; load.depth *= 4)
		expect(&load, load.depth / ANSWER_S, .01);
	load.bandwidth = 100 * LOAD_BYTES;
	expect(&load, 100, .01);
}

/* What is refused rests and asks again: the bucket gives its rate, or nearly. */
TEST(more_requests_than_the_rate_are_refused)
{
	struct simulation_load load = bucket_load();

	load.answer_rate = 1000;
	expect(&load, 16 / ANSWER_S, .01);
	load.answer_rate = 200;
	expect(&load, 200, .03);
	load.depth = 4;
	expect(&load, 4 / ANSWER_S, .01);
}

TEST(all_jobs_ask_the_same_bucket)
{
	struct simulation_load load = bucket_load();

	load.jobs = 2;
	expect(&load, 2 * 16 / ANSWER_S, .01);
	load.answer_rate = 300;
	expect(&load, 300, .03);
}

TEST(hits_on_disk_are_reads)
{
	struct simulation_load load = bucket_load();

	load.policy = CACHE_MINIO;
	load.share = 1;
	load.hit_s = ANSWER_S / 4;
	expect(&load, 16 / load.hit_s, .01);
	load.share = .5;
	expect(&load, 16 / (.5 * load.hit_s + .5 * ANSWER_S), .05);
	load.hit_s = 0; /* in memory */
	expect(&load, 2 * 16 / ANSWER_S, .05);
}
