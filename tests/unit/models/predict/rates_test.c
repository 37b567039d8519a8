/* rates_test.c - the closed form, by hand and against the simulation. */
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "models/predict/rates.h"
#include "models/simulation/simulation.h"
#include "tests/lib/closed_form.h"
#include "tests/lib/test.h"

enum { BYTES = 100000 };

static const double two_cores[] = {1, 1, 1};
static const struct profile_draw draw = {
	.bytes = BYTES, .fetch_s = NAN, .prep_s = 1e-3};

static struct simulation_load plain(void)
{
	return (struct simulation_load){
		.dataset = 4000,
		.batch = 20,
		.ahead = 8,
		.draws = &draw,
		.draw_count = 1,
		.depth = 16,
		.fetch_threads = 1,
		.fetch_scale = 1,
		.bandwidth = INFINITY,
		.workers = 2,
		.prep_scale = 1,
		.compute_threads = 1,
		.compute_s = 20 / 5000.,
		.speed = two_cores,
		.speeds = 3,
	};
}

/* The closed form; of prep and cores it is also what the model finds. */
static struct closed_form rates(const struct simulation_load *load)
{
	struct closed_form all;
	struct rates rates;

	closed_form_of(load, &all);
	rates_of(load, &rates);
	assert_float_equal(rates.prep, all.prep, 1e-9 * all.prep);
	assert_float_equal(rates.cores, all.cores, 1e-9 * all.cores);
	return all;
}

TEST(each_part_alone)
{
	struct simulation_load load = plain();

	load.bandwidth = 80e6;
	load.share = .5;
	load.policy = CACHE_MINIO;
	assert_float_equal(rates(&load).compute, 5000, 1e-6);
	assert_float_equal(rates(&load).prep, 2000, 1e-6);
	assert_float_equal(rates(&load).fetch, 1600, 1e-6);
	assert_float_equal(rates(&load).all, 1600, 1e-6);
	load.latency_s = 32e-3; /* 16 in flight */
	assert_float_equal(rates(&load).fetch, 1000, 1e-6);
	load.all_hits = true;
	assert_true(isinf(rates(&load).fetch));
	assert_float_equal(rates(&load).all, 2000, 1e-6);
}

TEST(a_delay_takes_no_core)
{
	struct simulation_load load = plain();

	load.workers = 8;
	load.delay_s = 4e-3;
	assert_float_equal(rates(&load).prep, 2000, 1e-6); /* CPU: 8 share 2 cores */
	load.delay_s = 16e-3;
	assert_float_equal(rates(&load).prep, 500, 1e-6);
}

/* Each sample is padded by itself: 4 and 10 ms take 6 and 10. */
TEST(some_samples_are_padded)
{
	static const struct profile_draw draws[] = {{100000, NAN, 4e-3},
						    {100000, NAN, 10e-3}};
	struct simulation_load load = plain();
	struct rates found;

	load.draws = draws;
	load.draw_count = 2;
	load.prep_scale = 1;
	load.workers = 2;
	load.delay_s = 6e-3;
	rates_of(&load, &found);
	assert_float_equal(found.prep, 2 / 8e-3, 1e-6);
}

TEST(the_cores_have_to_do_all_of_it)
{
	struct simulation_load load = plain();

	load.compute_s = 0;
	load.compute_cpu_s = 20 * .9e-3;
	load.fetch_cpu_s = .1e-3;
	assert_float_equal(rates(&load).cores, 1000, 1e-6);
	assert_float_equal(rates(&load).all, 1000, 1e-6);
}

/* 1000 / (1-hit(s)) over the epoch, capped at 2000: by hand, for x = .5:
 * hit(s) = 1 - .5/(1-s) >= .5 never; so F(s) = 1000 (1-s)/.5 for s < .5, else 1000. */
TEST(hits_are_integrated_over_the_epoch)
{
	struct simulation_load load = plain();

	load.bandwidth = 100e6;
	load.policy = CACHE_LRU;
	load.share = .5;
	assert_float_equal(rates(&load).all, 1000 / (.5 * log(2) + .5), 1);
}

/* ---- a simulation of the same load ---- */

static double unit(struct random *random, double low, double high)
{
	return low * pow(high / low, random_unit(random));
}

static void set_randomly(struct random *random, struct simulation_load *load)
{
	static const enum cache_id policies[] = {CACHE_NONE, CACHE_MINIO, CACHE_LRU,
						 CACHE_FIFO};

	*load = plain();
	load->ahead = 6 + random_below(random, 8);
	load->workers = 1 + random_below(random, 4);
	load->compute_s = 20 / unit(random, 300, 20000);
	load->compute_cpu_s = 20 * unit(random, 1e-6, 1e-3);
	load->fetch_cpu_s = unit(random, 1e-6, 1e-4);
	load->bandwidth = unit(random, 20e6, 1e9);
	load->latency_s = unit(random, 1e-4, 2e-2);
	load->policy = policies[random_below(random, 4)];
	load->share = random_unit(random);
	load->jobs = random_below(random, 5);
	load->shared = load->jobs > 1 && random_below(random, 2) == 0;
	load->window = load->ahead;
	if (load->jobs > 1 && !load->shared)
		load->joint_bandwidth = unit(random, 20e6, 4e9);
}

TEST(the_simulation_stays_below_and_comes_near)
{
	struct random random = {.state = 7};

	for (int i = 0; i < 60; i++) {
		struct simulation_outcome outcome;
		struct simulation_load load;
		struct error err = {0};
		double all;

		set_randomly(&random, &load);
		all = rates(&load).all;
		if (simulate(&load, 4000, &outcome, &err) < 0)
			fail_msg("%s", err.message);
		/* Batches ahead raise the hits of lru and fifo. */
		if (outcome.per_s > 1.1 * all || outcome.per_s < .7 * all)
			fail_msg("load %d (%s): simulated %g, closed form %g", i,
				 profile_caches[load.policy], outcome.per_s, all);
	}
}
