#include "loader/base/error.h"
#include "loader/base/random.h"
#include "models/simulation/simulation.h"
#include "tests/lib/load.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MS 1e-3

enum { RANDOM_DRAWS = 50, LOADS = 400 };

struct random_load {
	struct simulation_load load;
	struct profile_draw draws[RANDOM_DRAWS];
	double speed[9];
};

static double between(struct random *random, double low, double high)
{
	return low + (high - low) * random_unit(random);
}

static unsigned whole(struct random *random, unsigned low, unsigned high)
{
	return low + random_below(random, high - low + 1);
}

/* What `often` of all loads have, the others not. */
static double sometimes(struct random *random, double often, double low, double high)
{
	return random_unit(random) < often ? between(random, low, high) : 0;
}

static void make_makers(struct simulation_load *load, struct random *random)
{
	load->makers = (enum simulation_makers)whole(random, 0, 2);
	load->wait_scale = sometimes(random, 0.3, 0, 1);
	if (load->makers == MAKERS_TRAINER)
		load->workers = load->ahead = 1;
	if (load->makers != MAKERS_POOLS)
		load->depth = load->fetch_threads = load->workers;
}

static void make_load(struct random_load *r, struct random *random)
{
	static const enum cache_id policies[] = {CACHE_NONE, CACHE_MINIO, CACHE_LRU,
						 CACHE_FIFO};
	double cores = whole(random, 1, 8);

	for (int i = 0; i < RANDOM_DRAWS; i++)
		r->draws[i] = (struct profile_draw){
			.bytes = whole(random, 1000, 200000),
			.fetch_s = random_unit(random) < 0.2 ? NAN
							     : between(random, 0, 0.01),
			.prep_s = between(random, 0, 0.01),
		};
	for (int m = 0; m < 9; m++)
		r->speed[m] = m > cores ? cores / m : 1;
	r->load = (struct simulation_load){
		.dataset = whole(random, 1, 400),
		.batch = whole(random, 1, 64),
		.ahead = whole(random, 1, 8),
		.seed = random_next(random),
		.draws = r->draws,
		.draw_count = whole(random, 1, RANDOM_DRAWS),
		.policy = policies[whole(random, 0, 3)],
		.share = between(random, 0, 0.9),
		.depth = whole(random, 1, 20),
		.fetch_cpu_s = sometimes(random, 0.5, 0, 0.001),
		.fetch_scale = sometimes(random, 0.5, 0, 2),
		.latency_s = sometimes(random, 0.5, 0, 0.05),
		.bandwidth = 1e6 / sometimes(random, 0.7, 0.01, 1),
		.throttled = random_unit(random) < 0.5,
		.workers = whole(random, 1, 8),
		.prep_scale = between(random, 0.1, 2),
		.delay_s = sometimes(random, 0.3, 0, 0.01),
		.compute_cpu_s = sometimes(random, 0.5, 0, 0.1),
		.compute_s = sometimes(random, 0.5, 0, 0.1),
		.compute_threads = whole(random, 1, 4),
		.speed = r->speed,
		.speeds = 9,
	};
	r->load.fetch_threads = random_unit(random) < 0.5 ? 1 : r->load.depth;
	make_makers(&r->load, random);
}

/* Means over the data set. */
struct means {
	double bytes, missed_s, prep_s, padded_s;
};

static struct means means_of(const struct simulation_load *load)
{
	struct means means = {0};

	for (uint32_t i = 0; i < load->dataset; i++) {
		const struct profile_draw *draw =
			&load->draws[(uint64_t)i * load->draw_count / load->dataset];
		double prep = load->prep_scale * draw->prep_s;

		means.bytes += (double)draw->bytes / load->dataset;
		means.prep_s += prep / load->dataset;
		means.padded_s +=
			fmax(prep + load->wait_scale * draw->prep_s, load->delay_s) /
			load->dataset;
	}
	return means;
}

/* No faster than any stage or the cores; what is ahead may run out meanwhile. */
static void assert_bounded(const struct simulation_load *load,
			   const struct simulation_outcome *outcome, double counted)
{
	struct means means = means_of(load);
	double misses = 1 - outcome->hit_ratio, ahead = load->ahead * load->batch;
	double slack = 1 + 1e-9 + 20 * ahead / counted;
	double compute = load->compute_cpu_s / load->batch;
	double cpu = means.prep_s + compute + misses * load->fetch_cpu_s;
	double per_s = outcome->per_s;
	double cores = load->speed[8] * 8;

	assert_true(per_s > 0 && per_s < INFINITY);
	assert_true(per_s * load->compute_s / load->batch <= 1 + 1e-9);
	assert_true(per_s * compute <= load->compute_threads * (1 + 1e-9));
	assert_true(per_s * means.padded_s <= load->workers * slack);
	assert_true(per_s * cpu <= cores * slack);
	assert_true(per_s * misses * load->latency_s <= load->depth * slack);
	assert_true(per_s * misses * load->fetch_cpu_s <= load->fetch_threads * slack);
	assert_true(per_s * (1 - load->share) * means.bytes / load->bandwidth <= slack);
	assert_true(outcome->cpu_busy <= cores * (1 + 1e-9));
	assert_true(outcome->prep_busy <= load->workers * (1 + 1e-9));
	assert_true(outcome->fetch_busy <= load->depth * (1 + 1e-9));
	assert_true(outcome->blocked >= 0 && outcome->blocked <= 1 + 1e-9);
	assert_true(outcome->hit_ratio >= 0 && outcome->hit_ratio <= 1);
}

TEST(no_load_is_faster_than_its_stages)
{
	struct random random = {.state = 42};
	struct random_load r;

	for (int i = 0; i < LOADS; i++) {
		struct simulation_outcome outcome;
		uint64_t epochs = 20000 / (make_load(&r, &random), r.load.dataset);

		outcome = load_run(&r.load, epochs * r.load.dataset);
		assert_bounded(&r.load, &outcome, (double)(epochs * r.load.dataset));
	}
}

TEST(the_same_load_gives_the_same_numbers)
{
	struct random random = {.state = 7};
	struct simulation_outcome first, second;
	struct random_load r;

	make_load(&r, &random);
	first = load_run(&r.load, 5000);
	second = load_run(&r.load, 5000);
	assert_memory_equal(&first, &second, sizeof(first));
	r.load.seed++;
	second = load_run(&r.load, 5000);
	assert_true(first.per_s != second.per_s);
}

/* ---- what can't be ------------------------------------------------------------- */

TEST(short_memory_is_said)
{
	struct simulation_load load = load_plain();
	unsigned nth = 0;
	int result;

	load.compute_s = 1 * MS;
	load.policy = CACHE_MINIO;
	load.share = 0.5;
	do {
		struct simulation_outcome outcome;
		struct error error = {0};

		nomem_at(++nth);
		result = simulate(&load, 1000, &outcome, &error);
		nomem_at(0);
		assert_true(result == 0 || result == -ENOMEM);
		assert_int_equal(error.code, -result);
	} while (result < 0);
	assert_true(nth > 10);
}

static void refused(struct simulation_load load, const char *member)
{
	struct simulation_outcome outcome;
	struct error error = {0};
	char start[64];

	if (simulate(&load, 1000, &outcome, &error) != -EINVAL)
		fail_msg("a wrong %s is simulated", member);
	snprintf(start, sizeof(start), "the simulated load's %s", member);
	if (strncmp(error.message, start, strlen(start)) != 0)
		fail_msg("'%s' does not name %s", error.message, member);
}

static struct simulation_load sound(void)
{
	struct simulation_load load = load_plain();

	load.compute_s = 1;
	return load;
}

#define REFUSED(member, value)                                                         \
	do {                                                                           \
		struct simulation_load bad = sound();                                  \
		bad.member = value;                                                    \
		refused(bad, #member);                                                 \
	} while (0)

TEST(loads_without_sense_are_refused)
{
	static const double stopped[] = {1, 1, 0};
	static const struct profile_draw endless = {LOAD_BYTES, NAN, INFINITY};
	static const struct profile_draw large = {UINT64_MAX, NAN, 0};
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;
	struct error error = {0};

	REFUSED(dataset, 0);
	REFUSED(batch, 0);
	REFUSED(ahead, 0);
	REFUSED(ahead, UINT32_MAX);
	REFUSED(draws, NULL);
	REFUSED(draws, &endless);
	REFUSED(draws, &large);
	REFUSED(share, 1.01);
	REFUSED(share, NAN);
	REFUSED(depth, 0);
	REFUSED(fetch_threads, 0);
	REFUSED(fetch_threads, 17);
	REFUSED(fetch_cpu_s, -1);
	REFUSED(fetch_scale, NAN);
	REFUSED(latency_s, INFINITY);
	REFUSED(bandwidth, 0);
	REFUSED(bandwidth, NAN);
	REFUSED(workers, 0);
	REFUSED(workers, SIMULATION_THREADS);
	REFUSED(workers, UINT32_MAX);
	REFUSED(prep_scale, -1);
	REFUSED(delay_s, NAN);
	REFUSED(compute_cpu_s, -1);
	REFUSED(compute_s, NAN);
	REFUSED(compute_threads, 0);
	REFUSED(speed, NULL);
	REFUSED(speed, stopped);
	REFUSED(speeds, 1);
	load.share = 0.5;
	load.policy = CACHE_IDS;
	refused(load, "policy");
	load = load_plain();
	load.loaded = true;
	refused(load, "compute_s");
	load.compute_s = 1;
	load.no_prep = true;
	refused(load, "loaded");
	load.loaded = false;
	load.no_consumer = true;
	refused(load, "no_consumer");
	load = load_plain();
	assert_int_equal(simulate(&load, 1000, &outcome, &error), -EINVAL);
	assert_string_equal(error.message,
			    "nothing in the simulated load takes any time");
	load.compute_s = 1;
	assert_int_equal(simulate(&load, 0, &outcome, &error), -EINVAL);
}
