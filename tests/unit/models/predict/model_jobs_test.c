/* model_jobs_test.c - predictions of several jobs, with a loader each and with one. */
#include "loader/base/error.h"
#include "models/predict/cost.h"
#include "models/predict/model.h"
#include "tests/lib/known_run.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Of a run that G, P or F limits: so many jobs with a loader each, and with one. */
TEST(predicts_several_jobs)
{
	static const struct {
		const struct known_run *run;
		unsigned jobs;
		double own, shared; /* samples/s of all */
	} lines[] = {
		{&known_prep_bound, 1, 2000, 2000},
		{&known_prep_bound, 2, 2000, 4000},

		/* 2 cores / (1.01 ms / 5 + 5 us that each step works on a core) */
		{&known_prep_bound, 5, 2000, 9662},
		{&known_compute_bound, 4, 2000, 2000},
		{&known_fetch_bound, 3, 1500, 1500}, /* emulated for each job */
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct profile_change change = PROFILE_NO_CHANGE;

		change.jobs = lines[i].jobs;
		known_run_expect(lines[i].run, &change, lines[i].own);
		change.share = true;
		known_run_expect(lines[i].run, &change, lines[i].shared);
	}
}

/* One fast and one slow: each at its own pace, or both at that of the slow one. */
TEST(predicts_jobs_of_different_speeds)
{
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	change.jobs = 2;
	change.job_speed[0] = 1;
	change.job_speed[1] = .25;
	known_run_expect(&known_compute_bound, &change, 625);
	known_run_expect(&known_prep_bound, &change, 2000);
	change.share = true;
	known_run_expect(&known_compute_bound, &change, 250);
	known_run_make(&profile, &known_prep_bound);
	prediction = known_run_predict(&profile, &change);
	assert_true(fabs(prediction->per_job.value / 1000 - 1) < .03);
	assert_true(prediction->per_job.high == prediction->per_s.high / 2);
	assert_non_null(strstr(prediction->why, "at the pace of the slowest"));
	profile_free(&profile);
}

/* The same memory holds more of pictures that are stored smaller, here all of them. */
TEST(smaller_pictures_take_less_of_all)
{
	struct known_run run = known_prep_bound;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile_recipe *recipe;
	struct profile profile;

	run.share = .5;
	known_run_make(&profile, &run);
	profile.sample_bytes = 1000000;
	recipe = profile_add_recipe(&profile);
	recipe->change.resize = 256;
	recipe->prep_ratio = (struct interval){1, .99, 1.01};
	recipe->bytes_ratio = .3;
	change.jobs = 4;
	change.resize = 256;
	prediction = known_run_predict(&profile, &change);
	/* 4 x (6 slots x 32 x 1 MB + .3 x 200 MB) */
	assert_true(fabs(prediction->memory_bytes / 1008e6 - 1) < .03);
	assert_true(prediction->read_bytes_per_s < 1e6);
	change.cache_share = .5;
	prediction = known_run_predict(&profile, &change);
	assert_true(fabs(prediction->memory_bytes / 888e6 - 1) < .03);
	assert_true(fabs(prediction->read_bytes_per_s / 30e6 - 1) < .03);
	profile_free(&profile);
}

TEST(tells_what_jobs_take)
{
	struct known_run run = known_prep_bound;
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	run.share = .5;
	known_run_make(&profile, &run);
	profile.sample_bytes = 1000000;
	change.jobs = 4;
	prediction = known_run_predict(&profile, &change);
	/* 4 x (6 slots x 32 x 1 MB + 100 MB); 2000 samples/s, half of them read */
	assert_true(fabs(prediction->memory_bytes / 1168e6 - 1) < .03);
	assert_true(fabs(prediction->read_bytes_per_s / 100e6 - 1) < .03);
	assert_true(fabs(prediction->prep_cores / 2 - 1) < .03);
	assert_non_null(strstr(prediction->why, "emulated storage to itself"));
	change.share = true;
	prediction = known_run_predict(&profile, &change);
	/* 8 x 32 x 1 MB + 100 MB; 8000 samples/s, 2000 of them prepared */
	assert_true(fabs(prediction->memory_bytes / 356e6 - 1) < .03);
	assert_true(fabs(prediction->prep_cores / 2 - 1) < .03);
	assert_string_equal(prediction->why,
			    "an accelerator for each job; one loader for all");
	profile_free(&profile);
}

TEST(jobs_share_what_the_machine_costs)
{
	const struct prices prices = {.core_hour = 1,
				      .memory_gb_hour = NAN,
				      .gpu_hour = 3,
				      .storage_gb_month = NAN,
				      .request = NAN,
				      .accelerators = 1};
	const struct prices reads = {.core_hour = NAN,
				     .memory_gb_hour = NAN,
				     .gpu_hour = NAN,
				     .storage_gb_month = NAN,
				     .request = .001};
	struct profile_prediction out = {.rank = UNKNOWN};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;
	struct error err = {0};
	struct model *model;

	known_run_make(&profile, &known_prep_bound);
	model = model_new(&profile, &err);
	assert_non_null(model);
	model_price(model, &prices);
	change.jobs = 4;
	change.share = true;
	assert_int_equal(model_predict(model, &change, &out, &err), 0);
	/* 2 cores for 4 jobs, an accelerator each: 3.5 an hour, 1 s an epoch */
	assert_true(fabs(out.cost.value / (3.5 / 3600) - 1) < .03);
	profile_prediction_free(&out);
	/* 2000 reads of an epoch are for all of them, or for each. */
	model_price(model, &reads);
	assert_int_equal(model_predict(model, &change, &out, &err), 0);
	assert_float_equal(out.cost.value, 2000 * .001 / 4, 1e-9);
	profile_prediction_free(&out);
	change.share = false;
	assert_int_equal(model_predict(model, &change, &out, &err), 0);
	assert_float_equal(out.cost.value, 2000 * .001, 1e-9);
	profile_prediction_free(&out);
	model_free(model);
	profile_free(&profile);
}

/* Half of the data in the kernel's cache is half for all of them, in their own for each. */
TEST(jobs_share_what_the_kernel_keeps)
{
	const struct prices memory = {.core_hour = NAN,
				      .memory_gb_hour = 1,
				      .gpu_hour = NAN,
				      .storage_gb_month = NAN,
				      .request = NAN};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;
	double held[2];

	known_run_make(&profile, &known_prep_bound);
	change.cache_share = .5;
	change.jobs = 4;
	for (int page = 0; page < 2; page++) {
		struct profile_prediction out = {.rank = UNKNOWN};
		struct error err = {0};
		struct model *model = model_new(&profile, &err);

		assert_non_null(model);
		model_price(model, &memory);
		change.cache_policy.id = page ? CACHE_PAGE : CACHE_MINIO;
		assert_int_equal(model_predict(model, &change, &out, &err), 0);
		held[page] = out.cost.value * out.per_job.value;
		profile_prediction_free(&out);
		model_free(model);
	}
	assert_true(fabs(held[1] / held[0] - .25) < .01);
	profile_free(&profile);
}

/* Nothing throttles it: the loaders of all jobs meet there, with more reads in flight. */
TEST(jobs_meet_at_a_real_storage)
{
	static const struct {
		double latency_s;
		unsigned jobs;
		double own; /* samples/s of all */
	} lines[] = {
		{0, 3, 500},        /* bytes/s are what there is */
		{.1, 1, 16 / .102}, /* by Little's law */
		{.1, 3, 48 / .102},
		{.1, 6, 96 / .102}, /* an end of it was not seen */
	};
	struct known_run run = known_fetch_bound;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct profile_prediction *prediction;
		struct profile_change change = PROFILE_NO_CHANGE;
		struct profile profile;

		run.latency_s = lines[i].latency_s;
		run.real = run.latency_s > 0 ? 16 / .102 : 500;
		known_run_make(&profile, &run);
		profile.storage_bandwidth = profile.storage_latency_s = NAN;
		change.jobs = lines[i].jobs;
		prediction = known_run_predict(&profile, &change);
		if (fabs(prediction->per_s.value / lines[i].own - 1) > .03)
			fail_msg("line %zu: %g, not %g", i, prediction->per_s.value,
				 lines[i].own);
		change.share = true; /* it reads alone */
		prediction = known_run_predict(&profile, &change);
		assert_true(fabs(prediction->per_s.value / run.real / change.jobs - 1) <
			    .03);
		profile_free(&profile);
	}
}

static int predict_itself(const struct profile *profile, struct error *err)
{
	struct model *model = model_new(profile, err);
	struct profile_prediction out = {.rank = UNKNOWN};
	struct profile_change change = PROFILE_NO_CHANGE;
	int result;

	assert_non_null(model);
	result = model_predict(model, &change, &out, err);
	model_free(model);
	return result;
}

TEST(knows_jobs_that_ran_side_by_side)
{
	struct known_run run = known_prep_bound;
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;
	struct error err = {0};

	run.jobs = 4;
	known_run_make(&profile, &run);
	change.cores = 1;
	prediction = known_run_predict(&profile, &change); /* of all four */
	assert_true(fabs(prediction->per_s.value / 1000 - 1) < .03);
	assert_true(fabs(prediction->speedup.value / .5 - 1) < .03);
	assert_true(fabs(prediction->per_job.value / 250 - 1) < .03);
	change = PROFILE_NO_CHANGE;
	change.jobs = 1;
	prediction = known_run_predict(&profile, &change);
	assert_true(fabs(prediction->per_s.value / 2000 - 1) < .03);
	profile.together = known_about(4000); /* one of them is not as job 0 */
	assert_int_equal(predict_itself(&profile, &err), -ENODATA);
	assert_non_null(strstr(err.message, "no predictions"));
	profile.shared = true;
	assert_null(model_new(&profile, &err));
	assert_non_null(strstr(err.message, "share a loader"));
	profile_free(&profile);
}

TEST(refuses_jobs_without_sense)
{
	static const struct {
		unsigned jobs;
		bool share;
		double speeds[2];
		const char *what;
	} lines[] = {
		{65, false, {0, 0}, "jobs are 1 to 64"},
		{0, true, {0, 0}, "--jobs"},
		{3, false, {1, .5}, "a speed for each job"},
		{1, false, {11, 0}, "0.1 to 10 times"},
		{0, false, {1, 0}, "a speed for each job"},
	};
	struct profile profile;
	struct model *model;

	known_run_make(&profile, &known_prep_bound);
	model = model_new(&profile, NULL);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct profile_prediction out = {.rank = UNKNOWN};
		struct profile_change change = PROFILE_NO_CHANGE;
		struct error err = {0};

		change.jobs = lines[i].jobs;
		change.share = lines[i].share;
		change.job_speed[0] = lines[i].speeds[0];
		change.job_speed[1] = lines[i].speeds[1];
		assert_int_equal(model_predict(model, &change, &out, &err), -EINVAL);
		assert_non_null(strstr(err.message, lines[i].what));
	}
	model_free(model);
	profile_free(&profile);
}
