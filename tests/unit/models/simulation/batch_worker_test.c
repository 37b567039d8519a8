/* batch_worker_test.c - workers that make whole batches, against closed forms and the
 * replay of torch's rules. */
#include "loader/base/error.h"
#include "loader/base/permutation.h"
#include "loader/base/random.h"
#include "models/simulation/simulation.h"
#include "profiler/turns/turn_replay.h"
#include "tests/lib/close_to.h"
#include "tests/lib/load.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define MS 1e-3

static const double one_core[] = {1, 1};
static const double two_cores[] = {1, 1, 1};

/* Batches of ten samples. */
static struct simulation_load turns(unsigned workers, unsigned prefetch)
{
	struct simulation_load load = load_plain();

	load.makers = workers > 0 ? MAKERS_TURNS : MAKERS_TRAINER;
	load.workers = load.depth = load.fetch_threads = workers > 0 ? workers : 1;
	load.ahead = workers > 0 ? workers * prefetch : 1;
	return load;
}

TEST(a_step_lasts_as_long_as_the_slower_of_trainer_and_workers)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 1 * MS};

	for (unsigned w = 1; w <= 4; w++)
		for (unsigned p = 1; p <= 8; p++) {
			struct simulation_load load = turns(w, p);
			struct simulation_outcome outcome;
			double step = fmax(12 * MS, 40 * MS / w);

			load.draws = &draw;
			load.latency_s = 3 * MS;
			load.compute_s = 12 * MS;
			outcome = load_run(&load, 10000);
			assert_near(outcome.per_s, 10 / step, 5e-3);
			assert_near(outcome.prep_busy, 10 * MS / step, 1e-2);
			assert_near(outcome.fetch_busy, 30 * MS / step, 1e-2);
		}
}

TEST(without_workers_nothing_overlaps)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 1 * MS};
	struct simulation_load load = turns(0, 2);

	load.draws = &draw;
	load.latency_s = 3 * MS;
	load.compute_s = 12 * MS;
	assert_near(load_run(&load, 5000).per_s, 10 / (52 * MS), 1e-9);
	load.all_hits = true;
	assert_near(load_run(&load, 5000).per_s, 10 / (22 * MS), 1e-9);
	load.all_hits = false;
	load.no_prep = true;
	assert_near(load_run(&load, 5000).per_s, 10 / (12 * MS), 1e-9);
}

/* Of a read alone on storage that nothing throttles, and hits of the kernel's cache. */
TEST(reads_take_what_they_took)
{
	const struct profile_draw draw = {LOAD_BYTES, 3 * MS, 1 * MS};
	struct simulation_load load = turns(2, 2);

	load.draws = &draw;
	assert_near(load_run(&load, 5000).per_s, 500, 5e-3);
	load.policy = CACHE_PAGE;
	load.share = 1;
	assert_near(load_run(&load, 5000).per_s, 2000, 5e-3);
	load.throttled = true; /* all reads, whoever has the bytes */
	load.latency_s = 4 * MS;
	assert_near(load_run(&load, 5000).per_s, 400, 5e-3);
	load.all_hits = true;
	assert_near(load_run(&load, 5000).per_s, 2000, 5e-3);
}

/* It saves up one transfer while it is idle (loader/base/throttle.h). */
TEST(workers_share_the_bandwidth)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 10 * MS};
	struct simulation_load load = turns(1, 2);

	load.draws = &draw;
	load.bandwidth = 30e6;
	assert_near(load_run(&load, 5000).per_s, 100, 5e-3);
	load = turns(6, 2);
	load.draws = &draw;
	load.bandwidth = 30e6;
	assert_near(load_run(&load, 50000).per_s, 300, 5e-3);
}

TEST(what_sleeps_needs_no_core)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 10 * MS};
	struct simulation_load load = turns(4, 2);

	load.draws = &draw;
	load.speed = one_core;
	load.speeds = 2;
	assert_near(load_run(&load, 5000).per_s, 100, 5e-3);
	load.prep_scale = 0;
	load.wait_scale = 1;
	assert_near(load_run(&load, 5000).per_s, 400, 5e-3);
	load.prep_scale = .1; /* work of 1 ms at once, and 9 more */
	load.wait_scale = .9;
	assert_near(load_run(&load, 5000).per_s, 4 / (13 * MS), 5e-3);
	load.delay_s = 20 * MS; /* padded, with its read */
	load.latency_s = 5 * MS;
	assert_near(load_run(&load, 5000).per_s, 200, 5e-3);
}

TEST(the_trainer_shares_the_cores)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 4 * MS};
	struct simulation_load load = turns(2, 4);

	load.draws = &draw;
	load.compute_cpu_s = 10 * 2 * MS;
	load.speed = two_cores;
	load.speeds = 3;
	assert_near(load_run(&load, 5000).per_s, 2 / (6 * MS), 1e-2);
}

/* ---- against the replay --------------------------------------------------------- */

/* So few epochs that all before are one: the pipeline settles in a quarter of them. */
enum { DATASET = 400, EPOCHS = 3, BATCHES = (EPOCHS + 2) * DATASET };

/* Batches of one sample that take random times, in the order of the stream. */
static void in_order(const struct profile_draw *draws, uint64_t seed,
		     struct turn_batch *batches)
{
	uint32_t order[DATASET] = {0};

	for (uint64_t i = 0; i < BATCHES; i++) {
		if (i % DATASET == 0)
			permutation_fill(order, DATASET, seed, i / DATASET);
		batches[i] =
			(struct turn_batch){.made_s = draws[order[i % DATASET]].prep_s};
	}
}

/* Seconds from taking the first batch of epoch 1 to that of the one after `EPOCHS`. */
static double replayed(const struct turn_batch *batches, unsigned workers,
		       unsigned prefetch, double compute_s)
{
	static double compute[BATCHES];
	const struct turn_replay replay = {.batches = batches,
					   .batch_count = BATCHES,
					   .compute_s = compute,
					   .steps = (EPOCHS + 1) * DATASET + 1,
					   .workers = workers,
					   .prefetch = prefetch};

	for (size_t i = 0; i < BATCHES; i++)
		compute[i] = compute_s;
	return EPOCHS * DATASET * compute_s +
	       turn_replay_wait(&replay, NAN, DATASET + 1);
}

TEST(random_batches_take_what_the_replay_says)
{
	struct profile_draw draws[DATASET];
	static struct turn_batch batches[BATCHES];
	struct random random = {.state = 5};

	for (int i = 0; i < 40; i++) {
		unsigned workers = 1 + random_below(&random, 5);
		unsigned prefetch = 1 + random_below(&random, 4);
		struct simulation_load load = turns(workers, prefetch);
		double mean = 10 * MS / workers, seconds;

		for (int j = 0; j < DATASET; j++)
			draws[j] = (struct profile_draw){
				LOAD_BYTES, NAN, 20 * MS * random_unit(&random)};
		load.draws = draws;
		load.draw_count = load.dataset = DATASET;
		load.batch = 1;
		load.seed = random_next(&random);
		load.compute_s = mean * (.5 + random_unit(&random));
		in_order(draws, load.seed, batches);
		seconds = replayed(batches, workers, prefetch, load.compute_s);
		assert_near(load_run(&load, EPOCHS * DATASET).per_s,
			    EPOCHS * DATASET / seconds, 1e-4);
	}
}

/* ---- what makes no sense --------------------------------------------------------- */

static void refuses(const struct simulation_load *load, const char *member)
{
	struct simulation_outcome outcome;
	struct error err = {0};

	assert_int_equal(simulate(load, 1000, &outcome, &err), -EINVAL);
	assert_non_null(strstr(err.message, member));
}

TEST(loads_that_no_such_loader_has_are_refused)
{
	struct simulation_load load = turns(2, 2);

	load.depth = 3;
	refuses(&load, "depth");
	load = turns(2, 2);
	load.shared = true;
	load.window = 8;
	refuses(&load, "shared");
	load = turns(0, 2);
	load.workers = load.depth = 2;
	refuses(&load, "workers");
	load = turns(0, 2);
	load.ahead = 2;
	refuses(&load, "ahead");
	load = turns(2, 2);
	load.wait_scale = -1;
	refuses(&load, "wait_scale");
}
