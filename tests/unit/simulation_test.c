#include "loader/base/error.h"
#include "loader/base/random.h"
#include "models/simulation.h"
#include "tests/lib/nomem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MS 1e-3

enum { BYTES = 100000 };

static const double one_core[] = {1, 1};
static const double two_cores[] = {1, 1, 1};
static const double many_cores[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
				    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const struct profile_draw equal = {.bytes = BYTES, .fetch_s = NAN};

/* A pipeline in which nothing takes any time, on more cores than it has threads. */
static struct simulation_load plain(void)
{
	return (struct simulation_load){
		.dataset = 1000,
		.batch = 10,
		.ahead = 6,
		.draws = &equal,
		.draw_count = 1,
		.depth = 16,
		.fetch_threads = 16,
		.fetch_scale = 1,
		.bandwidth = INFINITY,
		.workers = 4,
		.prep_scale = 1,
		.compute_threads = 1,
		.speed = many_cores,
		.speeds = sizeof(many_cores) / sizeof(many_cores[0]),
	};
}

static struct simulation_outcome run(const struct simulation_load *load,
				     uint64_t samples)
{
	struct simulation_outcome outcome = {0};
	struct error error = {0};

	if (simulate(load, samples, &outcome, &error) < 0)
		fail_msg("%s", error.message);
	return outcome;
}

static void assert_near(double value, double expected, double relative)
{
	if (!(fabs(value - expected) <= relative * fabs(expected)))
		fail_msg("%.6g is not %.6g", value, expected);
}

/* ---- one stage limits ---------------------------------------------------------- */

static void the_accelerator_limits(void **state)
{
	struct simulation_load load = plain();
	struct simulation_outcome outcome;

	(void)state;
	load.compute_s = 20 * MS;
	outcome = run(&load, 5000);
	assert_near(outcome.per_s, 500, 1e-9);
	assert_near(outcome.blocked, 0, 0);
	load.no_prep = true;
	assert_near(run(&load, 5000).per_s, 500, 1e-9);
}

static void prep_limits(void **state)
{
	const struct profile_draw draw = {BYTES, NAN, 10 * MS};
	struct simulation_load load = plain();
	struct simulation_outcome outcome;

	(void)state;
	load.draws = &draw;
	load.compute_s = 5 * MS;
	outcome = run(&load, 5000);
	assert_near(outcome.per_s, 400, 1e-3);
	assert_near(outcome.prep_busy, 4, 1e-3);
	assert_near(outcome.prep_per_s, 400, 1e-2);
	assert_near(outcome.blocked, 1 - 400 * 0.5 * MS, 1e-2);
	load.prep_scale = 0.5;
	assert_near(run(&load, 5000).per_s, 800, 1e-3);
}

static void a_delay_pads_prep_without_using_a_core(void **state)
{
	const struct profile_draw draw = {BYTES, NAN, 4 * MS};
	struct simulation_load load = plain();
	struct simulation_outcome outcome;

	(void)state;
	load.draws = &draw;
	load.delay_s = 10 * MS;
	outcome = run(&load, 5000);
	assert_near(outcome.per_s, 400, 1e-3);
	assert_near(outcome.cpu_busy, 400 * 4 * MS, 1e-2);
	load.speed = one_core; /* four threads, of which about 1.6 want it */
	load.speeds = 2;
	assert_near(run(&load, 5000).per_s, 250, 1e-3);
}

static void bandwidth_limits(void **state)
{
	struct simulation_load load = plain();

	(void)state;
	load.bandwidth = 30e6;
	assert_near(run(&load, 5000).per_s, 300, 1e-3);
	load.latency_s = 10 * MS; /* side by side with the transfers */
	assert_near(run(&load, 5000).per_s, 300, 1e-3);
}

static void latency_limits_by_littles_law(void **state)
{
	const struct profile_draw slow = {BYTES, 20 * MS, 0};
	struct simulation_load load = plain();
	struct simulation_outcome outcome;

	(void)state;
	load.latency_s = 20 * MS;
	outcome = run(&load, 50000);
	assert_near(outcome.per_s, 800, 1e-3);
	assert_near(outcome.fetch_busy, 16, 1e-3);
	load.latency_s = 0;
	load.draws = &slow;
	assert_near(run(&load, 50000).per_s, 800, 1e-3);
	load.fetch_scale = 2;
	assert_near(run(&load, 50000).per_s, 400, 1e-3);
	load.fetch_cpu_s = 10 * MS; /* a part of these times */
	assert_near(run(&load, 50000).per_s, 400, 1e-3);
	load.latency_s = 80 * MS; /* a read takes at least so long */
	assert_near(run(&load, 50000).per_s, 200, 1e-3);
}

static void one_fetch_thread_issues_reads_one_by_one(void **state)
{
	struct simulation_load load = plain();

	(void)state;
	load.fetch_cpu_s = 1 * MS;
	load.latency_s = 1 * MS;
	load.fetch_threads = 1;
	assert_near(run(&load, 50000).per_s, 1000, 1e-3);
	load.fetch_threads = 16;
	load.speed = two_cores;
	load.speeds = 3;
	assert_near(run(&load, 50000).per_s, 2000, 1e-3);
}

/* As the fetch engine does: the throttle's rates are met whatever a read had to wait
 * for its thread. */
static void the_throttle_makes_up_for_what_was_waited(void **state)
{
	static const struct profile_draw draws[] = {
		{BYTES, NAN, 0.1 * MS}, {BYTES, NAN, 0.1 * MS}, {BYTES, NAN, 1.3 * MS}};
	struct simulation_load load = plain();

	(void)state;
	load.draws = draws;
	load.draw_count = 3;
	load.depth = 8;
	load.fetch_threads = 1;
	load.fetch_cpu_s = 0.5 * MS;
	load.latency_s = 10 * MS;
	load.throttled = true;
	load.speed = one_core;
	load.speeds = 2;
	assert_near(run(&load, 50000).per_s, 800, 4e-3);
}

/* ---- shared cores --------------------------------------------------------------- */

static void one_core_does_all_work_one_after_another(void **state)
{
	const struct profile_draw draw = {BYTES, NAN, 3 * MS};
	struct simulation_load load = plain();
	struct simulation_outcome outcome;

	(void)state;
	load.draws = &draw;
	load.fetch_cpu_s = 0.5 * MS;
	load.compute_cpu_s = 10 * 1.5 * MS;
	load.speed = one_core;
	load.speeds = 2;
	outcome = run(&load, 5000);
	assert_near(outcome.per_s, 200, 1e-3);
	assert_near(outcome.cpu_busy, 1, 1e-9);
}

static void threads_share_two_cores(void **state)
{
	const struct profile_draw draw = {BYTES, NAN, 4 * MS};
	struct simulation_load load = plain();

	(void)state;
	load.draws = &draw;
	load.workers = 2;
	load.compute_threads = 2;
	load.compute_cpu_s = 10 * 2 * MS;
	load.speed = two_cores;
	load.speeds = 3;
	assert_near(run(&load, 5000).per_s, 2 / (6 * MS), 1e-2);
	load.no_prep = true;
	assert_near(run(&load, 5000).per_s, 2 / (2 * MS), 1e-9);
	load.speed = one_core;
	load.speeds = 2;
	assert_near(run(&load, 5000).per_s, 1 / (2 * MS), 1e-9);
}

static void work_and_accelerator_run_side_by_side(void **state)
{
	struct simulation_load load = plain();

	(void)state;
	load.no_prep = true;
	load.compute_cpu_s = 5 * MS;
	load.compute_s = 20 * MS;
	assert_near(run(&load, 5000).per_s, 500, 1e-9);
	load.compute_cpu_s = 40 * MS;
	assert_near(run(&load, 5000).per_s, 250, 1e-9);
}

/* Prep of a batch is paid for by the consumer's batch that asked for it. */
static void loaded_prep_takes_the_cores_of_the_consumer(void **state)
{
	const struct profile_draw draw = {BYTES, NAN, 1 * MS};
	struct simulation_load load = plain();
	struct simulation_outcome outcome;

	(void)state;
	load.draws = &draw;
	load.loaded = true;
	load.workers = 1;
	load.compute_cpu_s = 10 * 3 * MS;
	load.speed = one_core;
	load.speeds = 2;
	outcome = run(&load, 5000);
	assert_near(outcome.per_s, 250, 1e-3);
	assert_near(outcome.prep_per_s, 250, 1e-2);
	load.compute_cpu_s = 10 * 0.5 * MS; /* faster than prep: it gets half */
	outcome = run(&load, 5000);
	assert_near(outcome.per_s, 1000, 1e-3);
	assert_near(outcome.prep_per_s, 500, 1e-2);
}

/* ---- caches -------------------------------------------------------------------- */

static void minio_leaves_a_fixed_share_to_fetch(void **state)
{
	struct simulation_load load = plain();
	struct simulation_outcome outcome;

	(void)state;
	load.bandwidth = 30e6;
	load.policy = "minio";
	load.share = 0.4;
	outcome = run(&load, 5000);
	assert_near(outcome.hit_ratio, 0.4, 1e-9);
	assert_near(outcome.per_s, 300 / 0.6, 1e-3);
	load.share = 1;
	load.compute_s = 10 * MS;
	assert_near(run(&load, 5000).per_s, 1000, 1e-9);
	load.share = 0;
	assert_near(run(&load, 5000).per_s, 300, 1e-3);
	load.all_hits = true;
	assert_near(run(&load, 5000).per_s, 1000, 1e-9);
}

static double lru_at(double x, double s)
{
	return s < x ? 1 - (1 - x) / (1 - s) : 0;
}

/*
 * Hits come early in the epoch, and what they save there beyond the consumer's pace is
 * lost: the rate is that of the integral over the epoch, below that of the mean.
 */
static void lru_is_followed_through_the_epoch(void **state)
{
	double x = 0.5, mean = x + (1 - x) * log(1 - x), fetch = 300, time = 0;
	double compute = fetch / (1 - mean);
	struct simulation_load load = plain();
	struct simulation_outcome outcome;

	(void)state;
	load.dataset = 40000;
	load.bandwidth = fetch * BYTES;
	load.policy = "lru";
	load.share = x;
	load.compute_s = load.batch / compute;
	for (int i = 0; i < 10000; i++)
		time += fmax(1 / compute, (1 - lru_at(x, (i + 0.5) / 10000)) / fetch) /
			10000;
	outcome = run(&load, 40000);
	assert_near(outcome.hit_ratio, mean, 0.03);
	assert_near(outcome.per_s, 1 / time, 0.005);
	assert_true(outcome.per_s < 0.96 * fetch / (1 - mean));
}

static void fewer_samples_than_an_epoch_are_whole_epochs_of_lru(void **state)
{
	struct simulation_load load = plain();
	double whole;

	(void)state;
	load.dataset = 20000;
	load.bandwidth = 30e6;
	load.policy = "lru";
	load.share = 0.5;
	whole = run(&load, 20000).per_s;
	assert_near(run(&load, 100).per_s, whole, 1e-9);
}

static void the_kernels_cache_is_steady_from_the_first_epoch(void **state)
{
	struct simulation_load load = plain();
	double later;

	(void)state;
	load.dataset = 20000;
	load.bandwidth = 30e6;
	load.policy = "page";
	load.share = 0.5;
	later = run(&load, 200000).hit_ratio;
	assert_near(run(&load, 20000).hit_ratio, later, 0.03);
}

static void a_huge_data_set_is_scaled_down(void **state)
{
	double mean = 0.5 + 0.5 * log(0.5);
	struct simulation_load load = plain();

	(void)state;
	load.dataset = 4000000000u;
	load.bandwidth = 30e6;
	load.policy = "lru";
	load.share = 0.5;
	assert_near(run(&load, 1000).hit_ratio, mean, 0.02);
	load.policy = "minio";
	assert_near(run(&load, 1000).hit_ratio, 0.5, 0.1);
	load.batch = 1000000; /* and the data set is no smaller than that */
	load.ahead = 1;
	assert_near(run(&load, 1000).per_s, 600, 0.01);
}

/*
 * The loader offers what it missed only when the batch's slot is opened again. So what
 * an epoch's last batches missed does not yet drive out what the next epoch's first
 * ones want.
 */
static void batches_ahead_raise_the_hits_of_lru(void **state)
{
	double closed = 0.5 + 0.5 * log(0.5);
	struct simulation_load load = plain();

	(void)state;
	load.bandwidth = 30e6;
	load.policy = "lru";
	load.share = 0.5;
	load.ahead = 1;
	assert_near(run(&load, 50000).hit_ratio, closed, 0.03);
	load.ahead = 16; /* 0.228 in 50 epochs of the loader itself */
	assert_near(run(&load, 50000).hit_ratio, 0.228, 0.03);
}

static void hits_of_the_kernel_are_reads(void **state)
{
	const struct profile_draw draw = {BYTES, 50 * MS, 0};
	struct simulation_load load = plain();

	(void)state;
	load.draws = &draw;
	load.policy = "page";
	load.share = 1;
	load.fetch_cpu_s = 2 * MS;
	load.fetch_threads = 1;
	load.bandwidth = 10e6; /* of the storage, which does not see them */
	assert_near(run(&load, 5000).per_s, 500, 1e-3);
	load.bandwidth = INFINITY;
	load.latency_s = 64 * MS;
	load.throttled = true;
	assert_near(run(&load, 5000).per_s, 250, 1e-3);
}

/* ---- order, and what is ahead --------------------------------------------------- */

static void make_jitter(struct profile_draw *draws, size_t count)
{
	for (size_t i = 0; i < count; i++)
		draws[i] = (struct profile_draw){BYTES, NAN,
						 i % 10 == 0 ? 46 * MS : 6 * MS};
}

static void batches_ahead_absorb_jitter(void **state)
{
	struct profile_draw draws[100];
	struct simulation_load load = plain();
	double one, many;

	(void)state;
	make_jitter(draws, 100);
	load.draws = draws;
	load.draw_count = 100;
	load.compute_s = 25 * MS; /* prep gives 400 on average, too */
	load.ahead = 2;
	one = run(&load, 20000).per_s;
	load.ahead = 30;
	many = run(&load, 20000).per_s;
	assert_true(many > 1.1 * one);
	assert_true(many > 0.95 * 400 && many < 400 * (1 + 1e-9));
}

/* Two batches an epoch, one at a time: 10 ms for the one with the slow sample, 1 ms
 * for the other. */
static void a_slow_sample_delays_its_batch(void **state)
{
	struct profile_draw draws[8];
	struct simulation_load load = plain();

	(void)state;
	for (int i = 0; i < 8; i++)
		draws[i] = (struct profile_draw){BYTES, NAN, i == 3 ? 10 * MS : 1 * MS};
	load.draws = draws;
	load.draw_count = 8;
	load.dataset = 8;
	load.batch = 4;
	load.ahead = 1;
	load.no_consumer = true;
	load.all_hits = true;
	assert_near(run(&load, 8000).per_s, 8 / (11 * MS), 2e-3);
}

/* A held batch has a slot: with one slot nothing is prepared while it is computed on. */
static void a_held_batch_occupies_its_slot(void **state)
{
	const struct profile_draw draw = {BYTES, NAN, 10 * MS};
	struct simulation_load load = plain();

	(void)state;
	load.draws = &draw;
	load.workers = load.batch;
	load.compute_s = 15 * MS;
	load.ahead = 1;
	assert_near(run(&load, 5000).per_s, 10 / (25 * MS), 1e-9);
	load.ahead = 2;
	assert_near(run(&load, 5000).per_s, 10 / (15 * MS), 1e-9);
	load.ahead = 1;
	load.latency_s = 20 * MS; /* nor does an idle storage save up anything */
	assert_near(run(&load, 5000).per_s, 10 / (45 * MS), 1e-9);
}

/* 4, 4 and 2 samples take a latency each. */
static void the_last_batch_of_an_epoch_is_short(void **state)
{
	struct simulation_load load = plain();

	(void)state;
	load.dataset = 10;
	load.batch = 4;
	load.ahead = 1;
	load.latency_s = 10 * MS;
	load.no_consumer = true;
	assert_near(run(&load, 1000).per_s, 10 / (30 * MS), 1e-6);
	load.latency_s = 0;
	load.no_consumer = false;
	load.compute_s = 40 * MS; /* for a short one in proportion */
	assert_near(run(&load, 1000).per_s, 100, 1e-9);
	load.compute_cpu_s = 80 * MS;
	assert_near(run(&load, 1000).per_s, 50, 1e-9);
	load.compute_cpu_s = 0;
	load.batch = 100; /* more than there are */
	assert_near(run(&load, 1000).per_s, 2500, 1e-9);
}

/* ---- whatever the load ---------------------------------------------------------- */

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

static void make_load(struct random_load *r, struct random *random)
{
	static const char *const policies[] = {"none", "minio", "lru", "fifo"};
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
		means.padded_s += fmax(prep, load->delay_s) / load->dataset;
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

static void no_load_is_faster_than_its_stages(void **state)
{
	struct random random = {.state = 42};
	struct random_load r;

	(void)state;
	for (int i = 0; i < LOADS; i++) {
		struct simulation_outcome outcome;
		uint64_t epochs = 20000 / (make_load(&r, &random), r.load.dataset);

		outcome = run(&r.load, epochs * r.load.dataset);
		assert_bounded(&r.load, &outcome, (double)(epochs * r.load.dataset));
	}
}

static void the_same_load_gives_the_same_numbers(void **state)
{
	struct random random = {.state = 7};
	struct simulation_outcome first, second;
	struct random_load r;

	(void)state;
	make_load(&r, &random);
	first = run(&r.load, 5000);
	second = run(&r.load, 5000);
	assert_memory_equal(&first, &second, sizeof(first));
	r.load.seed++;
	second = run(&r.load, 5000);
	assert_true(first.per_s != second.per_s);
}

/* ---- what can't be ------------------------------------------------------------- */

static void short_memory_is_said(void **state)
{
	struct simulation_load load = plain();
	unsigned nth = 0;
	int result;

	(void)state;
	load.compute_s = 1 * MS;
	load.policy = "minio";
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
	struct simulation_load load = plain();

	load.compute_s = 1;
	return load;
}

#define REFUSED(member, value)                                                         \
	do {                                                                           \
		struct simulation_load bad = sound();                                  \
		bad.member = value;                                                    \
		refused(bad, #member);                                                 \
	} while (0)

static void loads_without_sense_are_refused(void **state)
{
	static const double stopped[] = {1, 1, 0};
	static const struct profile_draw endless = {BYTES, NAN, INFINITY};
	struct simulation_load load = plain();
	struct simulation_outcome outcome;
	struct error error = {0};

	(void)state;
	REFUSED(dataset, 0);
	REFUSED(batch, 0);
	REFUSED(ahead, 0);
	REFUSED(ahead, UINT32_MAX);
	REFUSED(draws, NULL);
	REFUSED(draws, &endless);
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
	load.policy = "most";
	refused(load, "policy");
	load = plain();
	load.loaded = true;
	refused(load, "compute_s");
	load.compute_s = 1;
	load.no_prep = true;
	refused(load, "loaded");
	load.loaded = false;
	load.no_consumer = true;
	refused(load, "no_consumer");
	load = plain();
	assert_int_equal(simulate(&load, 1000, &outcome, &error), -EINVAL);
	assert_string_equal(error.message,
			    "nothing in the simulated load takes any time");
	load.compute_s = 1;
	assert_int_equal(simulate(&load, 0, &outcome, &error), -EINVAL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_accelerator_limits),
		cmocka_unit_test(prep_limits),
		cmocka_unit_test(a_delay_pads_prep_without_using_a_core),
		cmocka_unit_test(bandwidth_limits),
		cmocka_unit_test(latency_limits_by_littles_law),
		cmocka_unit_test(one_fetch_thread_issues_reads_one_by_one),
		cmocka_unit_test(the_throttle_makes_up_for_what_was_waited),
		cmocka_unit_test(one_core_does_all_work_one_after_another),
		cmocka_unit_test(threads_share_two_cores),
		cmocka_unit_test(work_and_accelerator_run_side_by_side),
		cmocka_unit_test(loaded_prep_takes_the_cores_of_the_consumer),
		cmocka_unit_test(minio_leaves_a_fixed_share_to_fetch),
		cmocka_unit_test(lru_is_followed_through_the_epoch),
		cmocka_unit_test(fewer_samples_than_an_epoch_are_whole_epochs_of_lru),
		cmocka_unit_test(the_kernels_cache_is_steady_from_the_first_epoch),
		cmocka_unit_test(a_huge_data_set_is_scaled_down),
		cmocka_unit_test(batches_ahead_raise_the_hits_of_lru),
		cmocka_unit_test(hits_of_the_kernel_are_reads),
		cmocka_unit_test(batches_ahead_absorb_jitter),
		cmocka_unit_test(a_slow_sample_delays_its_batch),
		cmocka_unit_test(a_held_batch_occupies_its_slot),
		cmocka_unit_test(the_last_batch_of_an_epoch_is_short),
		cmocka_unit_test(no_load_is_faster_than_its_stages),
		cmocka_unit_test(the_same_load_gives_the_same_numbers),
		cmocka_unit_test(short_memory_is_said),
		cmocka_unit_test(loads_without_sense_are_refused),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("simulation", tests, NULL, NULL);
}
