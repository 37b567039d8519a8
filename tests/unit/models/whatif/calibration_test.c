#include "models/whatif/calibration.h"
#include "profiler/profile_prediction.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>

static void close_to(double value, double want)
{
	if (!(fabs(value - want) <= 1e-9))
		fail_msg("%.12g is not %.12g", value, want);
}

/* A run on 1 core with a minio cache of half, over a throttle, with 4 workers. */
static void begin(struct profile *profile)
{
	profile_init(profile);
	profile->cores = 1;
	profile->workers = 4;
	profile->batch = 64;
	profile->cache_share = .4999999;
	profile->storage_bandwidth = 100e6;
	profile->cache.id = CACHE_MINIO;
}

/* The change of the last one, to be filled in. */
static struct profile_change *add(struct profile *profile, double predicted,
				  double measured, double half)
{
	struct profile_verification *verification = profile_add_verification(profile);

	assert_non_null(verification);
	verification->predicted.value = predicted;
	verification->measured =
		(struct interval){measured, measured - half, measured + half};
	return &verification->change;
}

static struct calibration score_of(const struct profile *profile)
{
	struct calibration score;

	assert_int_equal(calibration_measure(profile, &score), 0);
	return score;
}

TEST(nothing_to_score_is_unknown)
{
	struct profile profile;
	struct calibration score;

	begin(&profile);
	score = score_of(&profile);
	assert_int_equal(score.count, 0);
	assert_true(isnan(score.mean) && isnan(score.p95) && isnan(score.worst));
	add(&profile, NAN, 100, 1);
	score = score_of(&profile);
	assert_int_equal(score.count, 0);
	assert_true(isnan(score.bias) && isnan(score.covered));
	add(&profile, 200, 100, 60); /* too roughly measured */
	assert_int_equal(score_of(&profile).count, 0);
	profile_free(&profile);
}

/* 20 errors: -1 %, 2 %, -3 % .. 20 %. The 95th percentile of 20 is the 19th. */
TEST(errors_are_summed_up)
{
	struct profile profile;
	struct calibration score;

	begin(&profile);
	for (int i = 1; i <= 20; i++) {
		add(&profile, i % 2 == 0 ? 100 + i : 100 - i, 100, 1);
		profile.verifications[i - 1].covered = i <= 4 ? -1 : i % 4 != 0;
	}
	score = score_of(&profile);
	assert_int_equal(score.count, 20);
	close_to(score.mean, .105);
	close_to(score.bias, .005);
	close_to(score.worst, .2);
	close_to(score.p95, .19);
	close_to(score.covered, .75);
	profile_free(&profile);
}

TEST(a_few_have_their_worst_for_percentile)
{
	struct profile profile;
	struct calibration score;

	begin(&profile);
	add(&profile, 110, 100, 1);
	score = score_of(&profile);
	close_to(score.p95, .1);
	assert_true(isnan(score.covered));
	profile_free(&profile);
}

/* The run, and from it three steps: cores, cache, storage. */
static void add_steps(struct profile *profile, double cores, double cache,
		      double storage)
{
	add(profile, 100, 100, 1);
	add(profile, cores, 150, 2)->cores = 2;
	add(profile, cache, 148, 2)->cache_share = 1;
	add(profile, storage, 110, 2)->storage_bandwidth = 0;
}

TEST(the_first_advice_is_judged_by_what_measured_best)
{
	static const struct {
		double cores, cache, storage;
		size_t right, within;
	} table[] = {
		{151, 140, 111, 1, 1}, /* as measured */
		{140, 151, 111, 0, 1}, /* the other is as good, within the noise */
		{120, 115, 160, 0, 0}, /* wrong */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct profile profile;
		struct calibration score;

		begin(&profile);
		add_steps(&profile, table[i].cores, table[i].cache, table[i].storage);
		score = score_of(&profile);
		assert_int_equal(score.workloads, 1);
		assert_int_equal(score.first_right, table[i].right);
		assert_int_equal(score.first_within, table[i].within);
		profile_free(&profile);
	}
}

/* Steps to the slower side, of two members at once, or of what has no side. */
TEST(other_changes_are_no_steps)
{
	struct profile_change *change;
	struct profile profile;

	begin(&profile);
	add(&profile, 100, 100, 1);
	add(&profile, 150, 150, 1)->cores = 2;
	add(&profile, 90, 90, 1)->cache_share = .25;
	add(&profile, 80, 80, 1)->storage_latency_s = .01;
	add(&profile, 70, 70, 1)->gpu_speed = .5;
	add(&profile, 120, 120, 1)->batch = 128;
	add(&profile, 110, 110, 1)->jobs = 2;
	change = add(&profile, 190, 190, 1);
	change->jobs = 2;
	change->share = true;
	change = add(&profile, 125, 125, 1);
	change->batch = 128;
	change->gpu_speed = 1.5;
	change = add(&profile, 200, 200, 1);
	change->cache_share = 1;
	change->gpu_speed = 2;
	change = add(&profile, 95, 95, 1);
	change->cache_policy.id = CACHE_LRU;
	/* From lru there is one step, to minio; from .25 one, to the run. */
	assert_int_equal(score_of(&profile).workloads, 0);
	profile_free(&profile);
}

/* Told with the run's own values it is the run: one workload, its last verification. */
TEST(what_is_as_in_the_run_is_the_run)
{
	struct profile_change *change;
	struct profile profile;
	struct calibration score;

	begin(&profile);
	add_steps(&profile, 151, 140, 111);
	change = add(&profile, 120, 150, 1);
	change->cores = 2;
	change->workers = 4;
	change->batch = 64;
	change->cache_share = .5;
	change->gpu_speed = 1;
	change->storage_bandwidth = 100e6;
	change->storage_latency_s = 0;
	change->cache_policy.id = CACHE_MINIO;
	score = score_of(&profile);
	assert_int_equal(score.workloads, 1);
	assert_int_equal(score.first_right, 0); /* by the last, cache would be first */
	assert_int_equal(score.first_within, 1);
	profile_free(&profile);
}

/* Where the run has a worker a core, workers that are not told are as many as the cores. */
TEST(workers_follow_the_cores)
{
	struct profile_change *change;
	struct profile profile;

	begin(&profile);
	profile.cores = profile.workers = 2;
	change = add(&profile, 100, 100, 1);
	change->cores = change->workers = 1;
	add(&profile, 101, 101, 1)->cores = 1; /* the same */
	change = add(&profile, 110, 110, 1);
	change->cores = change->workers = 1;
	change->cache_share = 1;
	assert_int_equal(score_of(&profile).workloads, 0);
	add(&profile, 120, 120, 1); /* on 2 cores, with as many workers: one step */
	assert_int_equal(score_of(&profile).workloads, 1);
	profile_free(&profile);
}

/* Only the nearest of several sizes is a step, and each member gives one. */
TEST(the_nearest_is_the_step)
{
	struct profile profile;
	struct calibration score;

	begin(&profile);
	add(&profile, 100, 100, 1);
	add(&profile, 110, 130, 1)->cache_share = .75;
	add(&profile, 160, 160, 1)->cache_share = 1;
	add(&profile, 120, 120, 1)->gpu_speed = 2;
	/* From .75 a step leads to 1 alone; from the run to .75 and the accelerator. */
	score = score_of(&profile);
	assert_int_equal(score.workloads, 1);
	assert_int_equal(score.first_right, 0);
	profile_free(&profile);
}

/* No cache has no policy, so any cache is one step from it. */
TEST(a_cache_is_a_step_from_none)
{
	struct profile_change *change;
	struct profile profile;
	struct calibration score;

	begin(&profile);
	change = add(&profile, 50, 50, 1);
	change->cache_share = 0;
	change = add(&profile, 55, 55, 1);
	change->cache_share = .25;
	change->cache_policy.id = CACHE_LRU;
	change = add(&profile, 57, 60, 1);
	change->cache_share = .25;
	change = add(&profile, 58, 58, 1);
	change->cache_share = 0;
	change->cores = 2;
	change = add(&profile, 51, 51, 1);
	change->cache_share = .25;
	change->cores = 2;
	change->cache_policy.id = CACHE_LRU;
	score = score_of(&profile);
	/* From none: .25 of minio or cores. From .25 of lru: to minio or cores. */
	assert_int_equal(score.workloads, 2);
	assert_int_equal(score.first_right, 1);
	profile_free(&profile);
}

/* Two cores with smaller pictures are no step to two cores. */
TEST(pictures_stored_smaller_are_another_setting)
{
	struct profile profile;
	struct calibration score;

	begin(&profile);
	add(&profile, 500, 500, 1)->cores = 1;
	add(&profile, 900, 1000, 1)->cores = 2;
	add(&profile, 950, 600, 1)->cache_share = .9;
	add(&profile, 3000, 3000, 1)->cores = 2;
	profile.verifications[3].change.resize = 128;
	score = score_of(&profile);
	assert_int_equal(score.workloads, 1);
	assert_int_equal(score.first_right, 0);
	profile_free(&profile);
}

TEST(another_loader_with_other_threads_is_no_step)
{
	struct profile profile;
	struct profile_change *change;

	begin(&profile);
	add(&profile, 100, 100, 1);
	add(&profile, 150, 150, 1)->cores = 2;
	change = add(&profile, 300, 300, 1);
	change->libdsa = true;
	change->workers = 8;
	assert_int_equal(score_of(&profile).workloads, 0);
	profile_free(&profile);
}

TEST(memory_that_runs_out_is_said)
{
	struct profile profile;
	struct calibration score;

	begin(&profile);
	add(&profile, 110, 100, 1);
	for (unsigned nth = 1; nth <= 2; nth++) {
		nomem_at(nth);
		assert_int_equal(calibration_measure(&profile, &score), -ENOMEM);
	}
	nomem_at(0);
	profile_free(&profile);
}
