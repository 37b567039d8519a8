#include "models/simulation/simulation.h"
#include "tests/lib/close_to.h"
#include "tests/lib/load.h"
#include "tests/lib/test.h"

#define MS 1e-3

static const double one_core[] = {1, 1};
static const double two_cores[] = {1, 1, 1};

/* ---- one stage limits ---------------------------------------------------------- */

TEST(the_accelerator_limits)
{
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;

	load.compute_s = 20 * MS;
	outcome = load_run(&load, 5000);
	assert_near(outcome.per_s, 500, 1e-9);
	assert_near(outcome.blocked, 0, 0);
	load.no_prep = true;
	assert_near(load_run(&load, 5000).per_s, 500, 1e-9);
}

/* A thread that looks whether the device is done is in the way of prep, but no slower where
 * prep is in its way; work is. */
TEST(a_step_that_spins_takes_its_time)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, MS};
	struct simulation_load load = load_plain();

	load.draws = &draw;
	load.workers = 1;
	load.speed = one_core;
	load.speeds = 2;
	load.compute_s = 30 * MS;
	load.compute_spins = true;
	assert_near(load_run(&load, 5000).per_s, 10 / (30 * MS), 1e-3);
	assert_near(load_run(&load, 5000).cpu_busy, 1, 1e-3);
	load.compute_spins = false;
	assert_near(load_run(&load, 5000).cpu_busy, 10. / 30, 1e-2);
	load.compute_cpu_s = 30 * MS;
	assert_near(load_run(&load, 5000).per_s, 10 / (40 * MS), 1e-2);
}

/* The next batch is copied while the step computes on one that was, where there is room. */
TEST(copies_to_the_device_limit)
{
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;

	load.compute_s = 5 * MS;
	load.copy_s = 20 * MS;
	outcome = load_run(&load, 5000);
	assert_near(outcome.per_s, 500, 1e-3);
	assert_near(outcome.blocked, .75, 1e-2);
	load.no_prep = true;
	assert_near(load_run(&load, 5000).per_s, 500, 1e-3);
	load.ahead = 1;
	assert_near(load_run(&load, 5000).per_s, 400, 1e-3);
	load.no_prep = false;
	assert_near(load_run(&load, 5000).per_s, 400, 1e-3);
	load.ahead = 6;
	load.copy_s = 4 * MS;
	assert_near(load_run(&load, 5000).per_s, 2000, 1e-3);
}

/* Each job has a device of its own. */
TEST(jobs_copy_beside_each_other)
{
	struct simulation_load load = load_plain();

	load.jobs = 2;
	load.compute_s = 5 * MS;
	load.copy_s = 20 * MS;
	assert_near(load_run(&load, 5000).per_s, 1000, 1e-3);
	load.shared = true;
	load.window = 6;
	assert_near(load_run(&load, 5000).per_s, 1000, 1e-3);
}

/* Nor where nobody takes them. */
TEST(what_is_thrown_away_is_not_copied)
{
	struct simulation_load load = load_plain();
	const struct profile_draw draw = {LOAD_BYTES, NAN, 4 * MS};

	load.compute_s = 5 * MS;
	load.copy_s = 20 * MS;
	load.loaded = true;
	assert_near(load_run(&load, 5000).per_s, 2000, 1e-3);
	load.loaded = false;
	load.no_consumer = load.all_hits = true;
	load.draws = &draw;
	assert_near(load_run(&load, 5000).per_s, 1000, 1e-3);
}

TEST(prep_limits)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 10 * MS};
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;

	load.draws = &draw;
	load.compute_s = 5 * MS;
	outcome = load_run(&load, 5000);
	assert_near(outcome.per_s, 400, 1e-3);
	assert_near(outcome.prep_busy, 4, 1e-3);
	assert_near(outcome.prep_per_s, 400, 1e-2);
	assert_near(outcome.blocked, 1 - 400 * 0.5 * MS, 1e-2);
	load.prep_scale = 0.5;
	assert_near(load_run(&load, 5000).per_s, 800, 1e-3);
}

TEST(a_delay_pads_prep_without_using_a_core)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 4 * MS};
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;

	load.draws = &draw;
	load.delay_s = 10 * MS;
	outcome = load_run(&load, 5000);
	assert_near(outcome.per_s, 400, 1e-3);
	assert_near(outcome.cpu_busy, 400 * 4 * MS, 1e-2);
	load.speed = one_core; /* four threads, of which about 1.6 want it */
	load.speeds = 2;
	assert_near(load_run(&load, 5000).per_s, 250, 1e-3);
}

TEST(bandwidth_limits)
{
	struct simulation_load load = load_plain();

	load.bandwidth = 30e6;
	assert_near(load_run(&load, 5000).per_s, 300, 1e-3);
	load.latency_s = 10 * MS; /* side by side with the transfers */
	assert_near(load_run(&load, 5000).per_s, 300, 1e-3);
}

TEST(latency_limits_by_littles_law)
{
	const struct profile_draw slow = {LOAD_BYTES, 20 * MS, 0};
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;

	load.latency_s = 20 * MS;
	outcome = load_run(&load, 50000);
	assert_near(outcome.per_s, 800, 1e-3);
	assert_near(outcome.fetch_busy, 16, 1e-3);
	load.latency_s = 0;
	load.draws = &slow;
	assert_near(load_run(&load, 50000).per_s, 800, 1e-3);
	load.fetch_scale = 2;
	assert_near(load_run(&load, 50000).per_s, 400, 1e-3);
	load.fetch_cpu_s = 10 * MS; /* a part of these times */
	assert_near(load_run(&load, 50000).per_s, 400, 1e-3);
	load.latency_s = 80 * MS; /* a read takes at least so long */
	assert_near(load_run(&load, 50000).per_s, 200, 1e-3);
}

TEST(one_fetch_thread_issues_reads_one_by_one)
{
	struct simulation_load load = load_plain();

	load.fetch_cpu_s = 1 * MS;
	load.latency_s = 1 * MS;
	load.fetch_threads = 1;
	assert_near(load_run(&load, 50000).per_s, 1000, 1e-3);
	load.fetch_threads = 16;
	load.speed = two_cores;
	load.speeds = 3;
	assert_near(load_run(&load, 50000).per_s, 2000, 1e-3);
}

/* As the fetch engine does: the throttle's rates are met whatever a read had to wait
 * for its thread. */
TEST(the_throttle_makes_up_for_what_was_waited)
{
	static const struct profile_draw draws[] = {{LOAD_BYTES, NAN, 0.1 * MS},
						    {LOAD_BYTES, NAN, 0.1 * MS},
						    {LOAD_BYTES, NAN, 1.3 * MS}};
	struct simulation_load load = load_plain();

	load.draws = draws;
	load.draw_count = 3;
	load.depth = 8;
	load.fetch_threads = 1;
	load.fetch_cpu_s = 0.5 * MS;
	load.latency_s = 10 * MS;
	load.throttled = true;
	load.speed = one_core;
	load.speeds = 2;
	assert_near(load_run(&load, 50000).per_s, 800, 4e-3);
}

/* ---- shared cores --------------------------------------------------------------- */

TEST(one_core_does_all_work_one_after_another)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 3 * MS};
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;

	load.draws = &draw;
	load.fetch_cpu_s = 0.5 * MS;
	load.compute_cpu_s = 10 * 1.5 * MS;
	load.speed = one_core;
	load.speeds = 2;
	outcome = load_run(&load, 5000);
	assert_near(outcome.per_s, 200, 1e-3);
	assert_near(outcome.cpu_busy, 1, 1e-9);
}

TEST(threads_share_two_cores)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 4 * MS};
	struct simulation_load load = load_plain();

	load.draws = &draw;
	load.workers = 2;
	load.compute_threads = 2;
	load.compute_cpu_s = 10 * 2 * MS;
	load.speed = two_cores;
	load.speeds = 3;
	assert_near(load_run(&load, 5000).per_s, 2 / (6 * MS), 1e-2);
	load.no_prep = true;
	assert_near(load_run(&load, 5000).per_s, 2 / (2 * MS), 1e-9);
	load.speed = one_core;
	load.speeds = 2;
	assert_near(load_run(&load, 5000).per_s, 1 / (2 * MS), 1e-9);
}

TEST(work_and_accelerator_run_side_by_side)
{
	struct simulation_load load = load_plain();

	load.no_prep = true;
	load.compute_cpu_s = 5 * MS;
	load.compute_s = 20 * MS;
	assert_near(load_run(&load, 5000).per_s, 500, 1e-9);
	load.compute_cpu_s = 40 * MS;
	assert_near(load_run(&load, 5000).per_s, 250, 1e-9);
}

/* Prep of a batch is paid for by the consumer's batch that asked for it. */
TEST(loaded_prep_takes_the_cores_of_the_consumer)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 1 * MS};
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;

	load.draws = &draw;
	load.loaded = true;
	load.workers = 1;
	load.compute_cpu_s = 10 * 3 * MS;
	load.speed = one_core;
	load.speeds = 2;
	outcome = load_run(&load, 5000);
	assert_near(outcome.per_s, 250, 1e-3);
	assert_near(outcome.prep_per_s, 250, 1e-2);
	load.compute_cpu_s = 10 * 0.5 * MS; /* faster than prep: it gets half */
	outcome = load_run(&load, 5000);
	assert_near(outcome.per_s, 1000, 1e-3);
	assert_near(outcome.prep_per_s, 500, 1e-2);
}

/* ---- caches -------------------------------------------------------------------- */

TEST(minio_leaves_a_fixed_share_to_fetch)
{
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;

	load.bandwidth = 30e6;
	load.policy = CACHE_MINIO;
	load.share = 0.4;
	outcome = load_run(&load, 5000);
	assert_near(outcome.hit_ratio, 0.4, 1e-9);
	assert_near(outcome.per_s, 300 / 0.6, 1e-3);
	load.share = 1;
	load.compute_s = 10 * MS;
	assert_near(load_run(&load, 5000).per_s, 1000, 1e-9);
	load.share = 0;
	assert_near(load_run(&load, 5000).per_s, 300, 1e-3);
	load.all_hits = true;
	assert_near(load_run(&load, 5000).per_s, 1000, 1e-9);
}

static double lru_at(double x, double s)
{
	return s < x ? 1 - (1 - x) / (1 - s) : 0;
}

/*
 * Hits come early in the epoch, and what they save there beyond the consumer's pace is
 * lost: the rate is that of the integral over the epoch, below that of the mean.
 */
TEST(lru_is_followed_through_the_epoch)
{
	double x = 0.5, mean = x + (1 - x) * log(1 - x), fetch = 300, time = 0;
	double compute = fetch / (1 - mean);
	struct simulation_load load = load_plain();
	struct simulation_outcome outcome;

	load.dataset = 40000;
	load.bandwidth = fetch * LOAD_BYTES;
	load.policy = CACHE_LRU;
	load.share = x;
	load.compute_s = load.batch / compute;
	for (int i = 0; i < 10000; i++)
		time += fmax(1 / compute, (1 - lru_at(x, (i + 0.5) / 10000)) / fetch) /
			10000;
	outcome = load_run(&load, 40000);
	assert_near(outcome.hit_ratio, mean, 0.03);
	assert_near(outcome.per_s, 1 / time, 0.005);
	assert_true(outcome.per_s < 0.96 * fetch / (1 - mean));
}

TEST(fewer_samples_than_an_epoch_are_a_whole_one)
{
	struct simulation_load load = load_plain();
	double whole;

	load.dataset = 20000;
	load.bandwidth = 30e6;
	load.policy = CACHE_LRU;
	load.share = 0.5;
	whole = load_run(&load, 20000).per_s;
	assert_near(load_run(&load, 100).per_s, whole, 1e-9);
}

TEST(the_kernels_cache_is_steady_from_the_first_epoch)
{
	struct simulation_load load = load_plain();
	double later;

	load.dataset = 20000;
	load.bandwidth = 30e6;
	load.policy = CACHE_PAGE;
	load.share = 0.5;
	later = load_run(&load, 200000).hit_ratio;
	assert_near(load_run(&load, 20000).hit_ratio, later, 0.03);
}

TEST(a_huge_data_set_is_scaled_down)
{
	double mean = 0.5 + 0.5 * log(0.5);
	struct simulation_load load = load_plain();

	load.dataset = 4000000000u;
	load.bandwidth = 30e6;
	load.policy = CACHE_LRU;
	load.share = 0.5;
	assert_near(load_run(&load, 1000).hit_ratio, mean, 0.02);
	load.policy = CACHE_MINIO;
	assert_near(load_run(&load, 1000).hit_ratio, 0.5, 0.001);
	load.batch = 100000; /* and the data set is no smaller than that */
	load.ahead = 1;
	assert_near(load_run(&load, 1000).per_s, 600, 0.01);
}

/*
 * The loader offers what it missed only when the batch's slot is opened again. So what
 * an epoch's last batches missed does not yet drive out what the next epoch's first
 * ones want.
 */
TEST(batches_ahead_raise_the_hits_of_lru)
{
	double closed = 0.5 + 0.5 * log(0.5);
	struct simulation_load load = load_plain();

	load.bandwidth = 30e6;
	load.policy = CACHE_LRU;
	load.share = 0.5;
	load.ahead = 1;
	assert_near(load_run(&load, 50000).hit_ratio, closed, 0.03);
	load.ahead = 16; /* 0.228 in 50 epochs of the loader itself */
	assert_near(load_run(&load, 50000).hit_ratio, 0.228, 0.03);
}

TEST(hits_of_the_kernel_are_reads)
{
	const struct profile_draw draw = {LOAD_BYTES, 50 * MS, 0};
	struct simulation_load load = load_plain();

	load.draws = &draw;
	load.policy = CACHE_PAGE;
	load.share = 1;
	load.fetch_cpu_s = 2 * MS;
	load.fetch_threads = 1;
	load.bandwidth = 10e6; /* of the storage, which does not see them, */
	assert_near(load_run(&load, 5000).per_s, 500, 1e-3);
	load.bandwidth = INFINITY;
	load.latency_s = 64 * MS;
	load.throttled = true; /* nor where it is emulated */
	assert_near(load_run(&load, 5000).per_s, 500, 1e-3);
}

/* ---- order, and what is ahead --------------------------------------------------- */

static void make_jitter(struct profile_draw *draws, size_t count)
{
	for (size_t i = 0; i < count; i++)
		draws[i] = (struct profile_draw){LOAD_BYTES, NAN,
						 i % 10 == 0 ? 46 * MS : 6 * MS};
}

/* Whatever part of a large data set is simulated: all draws have their share in it. */
TEST(the_seed_hardly_matters)
{
	struct profile_draw draws[100];
	struct simulation_load load = load_plain();

	make_jitter(draws, 100);
	load.draws = draws;
	load.draw_count = 100;
	load.dataset = 1000000;
	for (load.seed = 0; load.seed < 10; load.seed++)
		assert_near(load_run(&load, 1000).per_s, 400, 0.004);
}

TEST(batches_ahead_absorb_jitter)
{
	struct profile_draw draws[100];
	struct simulation_load load = load_plain();
	double one, many;

	make_jitter(draws, 100);
	load.draws = draws;
	load.draw_count = 100;
	load.compute_s = 25 * MS; /* prep gives 400 on average, too */
	load.ahead = 2;
	one = load_run(&load, 20000).per_s;
	load.ahead = 30;
	many = load_run(&load, 20000).per_s;
	assert_true(many > 1.1 * one);
	assert_true(many > 0.95 * 400 && many < 400 * (1 + 1e-9));
}

/* Two batches an epoch, one at a time: 10 ms for the one with the slow sample, 1 ms
 * for the other. */
TEST(a_slow_sample_delays_its_batch)
{
	struct profile_draw draws[8];
	struct simulation_load load = load_plain();

	for (int i = 0; i < 8; i++)
		draws[i] = (struct profile_draw){LOAD_BYTES, NAN,
						 i == 3 ? 10 * MS : 1 * MS};
	load.draws = draws;
	load.draw_count = 8;
	load.dataset = 8;
	load.batch = 4;
	load.ahead = 1;
	load.no_consumer = true;
	load.all_hits = true;
	assert_near(load_run(&load, 8000).per_s, 8 / (11 * MS), 2e-3);
}

/* A held batch has a slot: with one slot nothing is prepared while it is computed on. */
TEST(a_held_batch_occupies_its_slot)
{
	const struct profile_draw draw = {LOAD_BYTES, NAN, 10 * MS};
	struct simulation_load load = load_plain();

	load.draws = &draw;
	load.workers = load.batch;
	load.compute_s = 15 * MS;
	load.ahead = 1;
	assert_near(load_run(&load, 5000).per_s, 10 / (25 * MS), 1e-9);
	load.ahead = 2;
	assert_near(load_run(&load, 5000).per_s, 10 / (15 * MS), 1e-9);
	load.ahead = 1;
	load.latency_s = 20 * MS; /* nor does an idle storage save up anything */
	assert_near(load_run(&load, 5000).per_s, 10 / (45 * MS), 1e-9);
}

/* 4, 4 and 2 samples take a latency each. */
TEST(the_last_batch_of_an_epoch_is_short)
{
	struct simulation_load load = load_plain();

	load.dataset = 10;
	load.batch = 4;
	load.ahead = 1;
	load.latency_s = 10 * MS;
	load.no_consumer = true;
	assert_near(load_run(&load, 1000).per_s, 10 / (30 * MS), 1e-6);
	load.latency_s = 0;
	load.no_consumer = false;
	load.compute_s = 40 * MS; /* for a short one in proportion */
	assert_near(load_run(&load, 1000).per_s, 100, 1e-9);
	load.compute_cpu_s = 80 * MS;
	assert_near(load_run(&load, 1000).per_s, 50, 1e-9);
	load.compute_cpu_s = 0;
	load.batch = 100; /* more than there are */
	assert_near(load_run(&load, 1000).per_s, 2500, 1e-9);
}
