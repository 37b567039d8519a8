/* jobs_load_test.c - several jobs in the simulation, against closed forms. */
#include "loader/base/error.h"
#include "models/simulation/simulation.h"
#include "tests/lib/close_to.h"
#include "tests/lib/closed_form.h"
#include "tests/lib/load.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define MS 1e-3

static const double two_cores[] = {1, 1, 1};
static const struct profile_draw prepared = {LOAD_BYTES, NAN, 2 * MS};

/* Jobs of 2 workers on 2 cores: P = 1000 samples/s; G = `compute` of each. */
static struct simulation_load jobs(unsigned count, bool shared, double compute)
{
	struct simulation_load load = load_plain();

	load.draws = &prepared;
	load.speed = two_cores;
	load.speeds = 3;
	load.workers = 2;
	load.compute_s = load.batch / compute;
	load.jobs = count;
	load.shared = shared;
	load.window = 8;
	return load;
}

/* Storage of 50 MB/s, F = 500 samples/s: emulated for each job, or one for all. */
static void slow(struct simulation_load *load, bool joint)
{
	load->bandwidth = joint ? INFINITY : 50e6;
	load->joint_bandwidth = joint ? 50e6 : 0;
}

struct line {
	const char *what;
	unsigned jobs;
	bool shared;
	double compute; /* G of each */
	bool throttled, joint;
	double wanted; /* samples/s of all */
};

/* P = 1000, F = 500. */
static const struct line lines[] = {
	{"prep is shared out", 2, false, 4000, false, false, 1000},
	{"prep is shared out", 5, false, 4000, false, false, 1000},
	{"prep is done once", 2, true, 4000, false, false, 2000},
	{"prep is done once", 5, true, 4000, false, false, 5000},
	{"up to what computes", 4, true, 600, false, false, 2400},
	{"as much alone", 1, true, 4000, false, false, 1000},
	{"compute does not meet", 4, false, 200, false, false, 800},
	{"compute does not meet", 4, true, 200, false, false, 800},
	{"a throttle for each", 2, false, 4000, true, false, 1000},
	{"a storage for all", 2, false, 4000, true, true, 500},
	{"a storage for all", 4, false, 4000, true, true, 500},
	{"read once", 2, true, 4000, true, false, 1000},
	{"read once", 4, true, 4000, true, false, 2000},
};

TEST(jobs_together_are_as_fast_as_what_they_share)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const struct line *line = &lines[i];
		struct simulation_load load =
			jobs(line->jobs, line->shared, line->compute);
		struct simulation_outcome outcome;
		struct closed_form rates;

		if (line->throttled)
			slow(&load, line->joint);
		/* One loader is alone at the storage. */
		if (line->shared && line->throttled)
			load.bandwidth = 50e6;
		outcome = load_run(&load, 5000);
		closed_form_of(&load, &rates);
		if (fabs(outcome.per_s / line->wanted - 1) > .01)
			fail_msg("%s, %u jobs: %g samples/s, not %g", line->what,
				 line->jobs, outcome.per_s, line->wanted);
		if (fabs(rates.all / line->wanted - 1) > .01)
			fail_msg("%s, %u jobs: closed form %g, not %g", line->what,
				 line->jobs, rates.all, line->wanted);
		for (unsigned j = 0; j < line->jobs; j++)
			assert_near(outcome.job_per_s[j], line->wanted / line->jobs,
				    .02);
	}
}

TEST(what_is_prepared_once_is_counted_once)
{
	struct simulation_load load = jobs(4, true, 4000);
	struct simulation_outcome outcome = load_run(&load, 5000);

	assert_near(outcome.prep_per_s, outcome.per_s / 4, .01);
	assert_near(outcome.cpu_busy, 2, .01);
}

/* The window absorbs no lasting difference: all go as fast as the slowest. */
TEST(the_slowest_sets_the_pace_of_those_who_share)
{
	static const double steps[] = {10 / 4000., 10 / 300., 10 / 900.};
	struct simulation_load load = jobs(3, true, 4000);
	struct simulation_outcome outcome;
	struct closed_form rates;

	load.job_compute_s = steps;
	outcome = load_run(&load, 5000);
	for (int j = 0; j < 3; j++)
		assert_near(outcome.job_per_s[j], 300, .01);
	closed_form_of(&load, &rates);
	assert_near(rates.all, 900, 1e-9);
	load.no_prep = true; /* also where batches cost nothing */
	assert_near(load_run(&load, 5000).job_per_s[0], 300, .05);
}

/* Each has what the others leave: one takes its 100, the others share the rest. */
TEST(jobs_with_loaders_of_their_own_go_their_own_way)
{
	static const double steps[] = {10 / 100., 10 / 4000., 10 / 4000.};
	struct simulation_load load = jobs(3, false, 4000);
	struct simulation_outcome outcome;
	struct closed_form rates;

	load.job_compute_s = steps;
	outcome = load_run(&load, 5000);
	assert_near(outcome.job_per_s[0], 100, .01);
	assert_near(outcome.job_per_s[1], 450, .02);
	assert_near(outcome.job_per_s[2], 450, .02);
	closed_form_of(&load, &rates);
	assert_near(rates.all, 1000, 1e-9);
}

/* Batches that are kept wait for jobs, not jobs for them. */
TEST(the_window_absorbs_jitter)
{
	static const struct profile_draw jitter[] = {{LOAD_BYTES, NAN, .1 * MS},
						     {LOAD_BYTES, NAN, 1.7 * MS}};
	struct simulation_load load = jobs(2, true, 2100);
	double narrow, wide;

	load.draws = jitter;
	load.draw_count = 2;
	load.ahead = 2;
	load.window = 2;
	narrow = load_run(&load, 5000).per_s;
	load.window = 8;
	wide = load_run(&load, 5000).per_s;
	assert_true(wide > 1.02 * narrow);
}

/* What computes on the CPU takes the cores that prep needs: once for each job. */
TEST(consumers_work_on_the_same_cores)
{
	struct simulation_load load = jobs(4, true, 1e6);

	load.compute_s = 0;
	load.compute_cpu_s = load.batch * 1 * MS;
	/* 2 cores / (2 ms / 4 + 1 ms) */
	assert_near(load_run(&load, 5000).per_s, 2 / 1.5e-3, .02);
	load.shared = false;
	assert_near(load_run(&load, 5000).per_s, 2 / 3e-3, .02);
}

/* Private caches are each job's; of the kernel's, what one read the next one finds. */
TEST(caches_are_private_and_the_kernels_is_joint)
{
	struct simulation_load load = jobs(2, false, 4000);

	load.share = .4;
	load.policy = CACHE_MINIO;
	assert_near(load_run(&load, 5000).hit_ratio, .4, .01);
	load.policy = CACHE_PAGE;
	load.jobs = 1;
	assert_true(load_run(&load, 5000).hit_ratio < .4);
	load.jobs = 2;
	assert_true(load_run(&load, 5000).hit_ratio > .5);
}

TEST(a_single_job_is_the_same_however_it_is_said)
{
	static const double step[] = {10 / 900.};
	struct simulation_load load = jobs(0, false, 900);
	struct simulation_outcome outcome = load_run(&load, 5000), again;

	load.jobs = 1;
	load.job_compute_s = step;
	load.compute_s = 1;
	again = load_run(&load, 5000);
	assert_memory_equal(&again, &outcome, sizeof(outcome));
	assert_true(outcome.job_per_s[0] == outcome.per_s);
}

TEST(short_memory_is_said)
{
	static const enum cache_id policies[] = {CACHE_PAGE, CACHE_MINIO};
	struct simulation_load load = jobs(3, false, 900);

	load.share = .5;
	for (int i = 0; i < 2; i++) {
		unsigned nth = 0;
		int result;

		load.policy = policies[i];
		do {
			struct simulation_outcome outcome;
			struct error err = {0};

			nomem_at(++nth);
			result = simulate(&load, 100, &outcome, &err);
			nomem_at(0);
			assert_true(result == 0 || result == -ENOMEM);
			assert_int_equal(err.code, -result);
		} while (result < 0);
		assert_true(nth > 20);
	}
}

static void refused(const struct simulation_load *load, const char *member)
{
	struct simulation_outcome outcome;
	struct error err = {0};

	assert_int_equal(simulate(load, 100, &outcome, &err), -EINVAL);
	assert_non_null(strstr(err.message, member));
}

TEST(jobs_without_sense_are_refused)
{
	static const double steps[] = {1, -1};
	struct simulation_load load = jobs(65, false, 900);

	refused(&load, "jobs");
	load = jobs(64, false, 900);
	load.batch = 1 << 18;
	refused(&load, "jobs");
	load = jobs(2, true, 900);
	load.window = UINT32_MAX;
	refused(&load, "jobs");
	load.window = load.ahead - 1;
	refused(&load, "window");
	load = jobs(2, false, 900);
	load.joint_bandwidth = .5;
	refused(&load, "joint_bandwidth");
	load = jobs(2, false, 900);
	load.job_compute_s = steps;
	refused(&load, "job_compute_s[1]");
	load = jobs(2, false, 900);
	load.loaded = true;
	refused(&load, "jobs");
}
