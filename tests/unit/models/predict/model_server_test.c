/* model_server_test.c - predictions of runs whose samples servers have. */
#include "loader/base/error.h"
#include "models/predict/model.h"
#include "tests/lib/known_run.h"
#include "tests/lib/server_run.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void server_expect(double most, const struct profile_change *change,
			  double truth)
{
	struct profile profile;
	struct profile_prediction *prediction;

	server_run_make(&profile, most);
	prediction = known_run_predict(&profile, change);
	assert_float_equal(prediction->per_s.value / truth, 1, .03);
	assert_true(prediction->per_s.low < truth && truth < prediction->per_s.high);
	profile_free(&profile);
}

TEST(requests_in_flight_follow_littles_law)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	for (unsigned q = 1; q <= 16; q *= 2) {
		change.fetch_depth = q;
		server_expect(INFINITY, &change, q / SERVER_ANSWER_S);
	}
	change.fetch_depth = 64;
	server_expect(INFINITY, &change, 1500);
}

TEST(and_give_no_more_than_servers_do)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.fetch_depth = 2;
	server_expect(400, &change, 100);
	change.fetch_depth = 32;
	server_expect(400, &change, 400);
	change.fetch_depth = 128;
	server_expect(400, &change, 400);
	change.fetch_depth = 16;
	change.jobs = 4; /* which ask the same servers */
	server_expect(400, &change, 400);
}

/* What is emulated counts where it is slower than the servers. */
TEST(changes_of_other_parts_are_predicted_too)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.storage_latency_s = 2 * SERVER_ANSWER_S;
	server_expect(INFINITY, &change, 100);
	change.storage_latency_s = SERVER_ANSWER_S / 2;
	server_expect(INFINITY, &change, 200);
	change = PROFILE_NO_CHANGE;
	change.storage_bandwidth = 5e6;
	server_expect(INFINITY, &change, 50);
	change = PROFILE_NO_CHANGE;
	change.cache_share = .5;
	server_expect(INFINITY, &change, 400);
}

static int refused(struct profile *profile, unsigned depth, struct error *err)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction = profile_add_prediction(profile);
	struct model *model = model_new(profile, err);
	int result;

	assert_non_null(model);
	change.fetch_depth = depth;
	result = model_predict(model, &change, prediction, err);
	model_free(model);
	return result;
}

/* Only the run's depth was measured: fewer are not known, more are as far as that shows. */
TEST(fewer_than_were_measured_are_not_known)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct error err = {0};
	struct profile profile;

	server_run_make(&profile, INFINITY);
	profile.fetch_curve[0] = profile.fetch_curve[1];
	profile.fetch_points = 1;
	assert_int_equal(refused(&profile, 2, &err), -ENODATA);
	assert_non_null(strstr(err.message, "one alone"));
	assert_int_equal(refused(&profile, 257, &err), -EINVAL);
	change.fetch_depth = 8;
	assert_float_equal(known_run_predict(&profile, &change)->per_s.value, 400, 12);
	profile_free(&profile);
}

/* From a run on whatever storage: the bucket takes its place. */
TEST(a_bucket_takes_the_place_of_any_storage)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	const struct known_run run = {.compute_per_s = 1500,
				      .prep_s = 1e-3,
				      .cores = 2,
				      .workers = 2,
				      .bandwidth = 20e6,
				      .real = 200};
	struct profile_prediction *prediction;
	struct profile profile;

	change.bucket_latency_s = 2 * SERVER_ANSWER_S;
	server_expect(INFINITY, &change, 100);
	change.storage_bandwidth = 2e6;
	server_expect(INFINITY, &change, 20);
	change.jobs = 4; /* it is one bucket for all */
	server_expect(INFINITY, &change, 20);
	change.jobs = 0;
	change.storage_bandwidth = NAN;
	change.bucket_per_s = 50; /* of which rests of only 4 requests leave some */
	server_run_make(&profile, INFINITY);
	prediction = known_run_predict(&profile, &change);
	assert_float_equal(prediction->per_s.value, 44, 6);
	profile_free(&profile);
	change.bucket_per_s = NAN;
	known_run_make(&profile, &run); /* which it was slowed by */
	change.bucket_latency_s = (double)profile.fetch_depth / 100;
	prediction = known_run_predict(&profile, &change);
	assert_float_equal(prediction->per_s.value, 100, 3);
	assert_float_equal(prediction->traffic.reads, (double)profile.dataset_samples,
			   .5);
	profile_free(&profile);
}

static int blocks_refused(void (*spoil)(struct profile_change *change))
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct error err = {0};
	struct profile profile;
	struct model *model;
	int result;

	server_run_make(&profile, INFINITY);
	prediction = profile_add_prediction(&profile);
	model = model_new(&profile, &err);
	assert_non_null(model);
	change.bucket_latency_s = SERVER_ANSWER_S;
	change.block_fetch = 16;
	spoil(&change);
	result = model_predict(model, &change, prediction, &err);
	model_free(model);
	profile_free(&profile);
	return result;
}

static void no_bucket(struct profile_change *change)
{
	change->bucket_latency_s = NAN;
}

static void a_cache_beside(struct profile_change *change)
{
	change->cache_share = .5;
}

static void two_jobs(struct profile_change *change)
{
	change->jobs = 2;
}

static void nothing_else(struct profile_change *change)
{
	(void)change;
}

/* A FIFO of all of it has every sample in the second epoch; where the listing takes longer
 * than all GETs do, each sample is one of these, after another. */
TEST(blocks_are_fetched_as_deli_does)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;
	double samples, held_s;

	server_run_make(&profile, INFINITY);
	samples = (double)profile.dataset_samples;
	change.bucket_latency_s = SERVER_ANSWER_S;
	change.block_fetch = (unsigned)samples;
	prediction = known_run_predict(&profile, &change);
	held_s = 1 / prediction->per_s.value;
	assert_true(held_s > 1 / 1500.);
	assert_true(prediction->hit_ratio == 1);
	assert_true(prediction->stalls[STAGE_FETCH].value < 1e-9);
	assert_true(prediction->traffic.reads == 0);
	assert_true(prediction->traffic.listing == ceil(samples / 1000));

	change.block_fetch = change.block_capacity = 1;
	prediction = known_run_predict(&profile, &change);
	assert_true(prediction->hit_ratio < .1);
	assert_float_equal((1 / prediction->per_s.value - held_s) /
				   (1 - prediction->hit_ratio),
			   SERVER_ANSWER_S, SERVER_ANSWER_S / 20);
	assert_true(prediction->traffic.listing == samples * ceil(samples / 1000));
	assert_true(prediction->traffic.reads > samples);
	profile_free(&profile);
	assert_int_equal(blocks_refused(nothing_else), 0);
	assert_int_equal(blocks_refused(no_bucket), -EINVAL);
	assert_int_equal(blocks_refused(a_cache_beside), -EINVAL);
	assert_int_equal(blocks_refused(two_jobs), -EINVAL);
}

static const struct profile_prediction *with_disk(struct profile *profile, double hit_s,
						  double share)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	server_run_make(profile, INFINITY);
	profile->disk_cache.hits = isnan(hit_s) ? 0 : 500;
	profile->disk_cache.hit_s = hit_s;
	change.cache_share = share;
	return known_run_predict(profile, &change);
}

/* A hit takes what it took in the run; where there was none, nothing, or what a miss does. */
TEST(another_size_of_a_cache_on_disk_is_predicted)
{
	const struct profile_prediction *prediction;
	struct profile profile;

	prediction = with_disk(&profile, SERVER_ANSWER_S / 4, .5);
	assert_float_equal(prediction->per_s.value, 200 / (.5 + .5 / 4), 12);
	assert_float_equal(prediction->hit_ratio, .5, .01);
	assert_float_equal(prediction->traffic.reads,
			   .5 * (double)profile.dataset_samples,
			   .01 * (double)profile.dataset_samples);
	profile_free(&profile);
	prediction = with_disk(&profile, NAN, .5);
	assert_true(isnan(prediction->per_s.value));
	assert_float_equal(prediction->per_s.low, 200, 20);
	assert_float_equal(prediction->per_s.high, 400, 40);
	profile_free(&profile);
}
