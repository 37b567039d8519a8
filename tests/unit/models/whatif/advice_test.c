/* advice_test.c - what is advised of runs that wait for one thing. */
#include "loader/base/error.h"
#include "models/predict/model.h"
#include "models/whatif/advice.h"
#include "tests/lib/known_run.h"
#include "tests/lib/nomem.h"
#include "tests/lib/server_run.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

TEST(predicts_nothing_of_a_run_it_does_not_understand)
{
	struct known_run run = known_fetch_bound;
	struct profile profile;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct error err = {0};
	struct model *model;

	run.real = 400; /* 500 by its stages */
	known_run_make(&profile, &run);
	model = model_new(&profile, &err);
	assert_non_null(model);
	change.cache_share = .5;
	assert_int_equal(
		model_predict(model, &change, profile_add_prediction(&profile), &err),
		-ENODATA);
	assert_non_null(strstr(err.message, "no predictions"));
	profile_drop_predictions(&profile);
	assert_int_equal(advise(&profile, model, "out", &err), 0);
	assert_int_equal(profile.prediction_count, 0);
	assert_non_null(profile.model.why);
	model_free(model);
	profile_free(&profile);
}

static void server_advice(struct profile *profile, double most)
{
	struct error err = {0};
	struct model *model;

	server_run_make(profile, most);
	model = model_new(profile, &err);
	assert_non_null(model);
	assert_int_equal(advise(profile, model, "out", &err), 0);
	model_free(model);
}

static const struct profile_prediction *advised(const struct profile *profile,
						const char *words)
{
	for (size_t i = 0; i < profile->prediction_count; i++) {
		const struct profile_prediction *one = &profile->predictions[i];

		if (one->advice != NULL && strstr(one->advice, words) != NULL)
			return one;
	}
	fail_msg("nothing is said of %s", words);
	return NULL;
}

/* 1500 samples/s of 20 ms each are 30 requests at once; 200 a second of 1500 are hits of
 * 87 %. */
TEST(advises_the_least_that_leaves_no_fetch_stall)
{
	const struct profile_prediction *one;
	struct profile profile;

	server_advice(&profile, INFINITY);
	one = advised(&profile, "requests at once, the least without a fetch stall");
	assert_true(one->rank != UNKNOWN);
	assert_in_range(one->change.fetch_depth, 30, 32);
	assert_true(one->stalls[STAGE_FETCH].value < .01);
	assert_non_null(strstr(one->command, "--fetch-depth 3"));
	one = advised(&profile, "in memory, the least without a fetch stall");
	assert_true(one->change.cache_share > .86 && one->change.cache_share < .89);
	assert_true(one->stalls[STAGE_FETCH].value < .01);
	profile_free(&profile);
}

/* 400 a second are all that the servers give: 8 of 20 ms. */
TEST(tells_where_no_depth_ends_the_stall)
{
	const struct profile_prediction *one;
	struct profile profile;

	server_advice(&profile, 400);
	one = advised(&profile, "no number of them ends the fetch stall");
	assert_in_range(one->change.fetch_depth, 7, 9);
	assert_true(one->stalls[STAGE_FETCH].value > .6);
	profile_free(&profile);
}

static void get_advice(struct profile *profile, const struct known_run *run)
{
	struct error err = {0};
	struct model *model;

	known_run_make(profile, run);
	model = model_new(profile, &err);
	assert_non_null(model);
	if (advise(profile, model, "my out", &err) < 0)
		fail_msg("%s", err.message);
	model_free(model);
}

/* All of the data would gain 3x: 90 % of that is 500/.35 = 1429 of 1500 samples/s. */
TEST(advises_the_knee_of_a_cache)
{
	struct profile profile;
	const struct profile_prediction *first;

	get_advice(&profile, &known_fetch_bound);
	assert_true(profile.prediction_count > 0);
	first = &profile.predictions[0];
	assert_int_equal(first->rank, 1);
	assert_non_null(strstr(first->advice, "65% of the data in memory"));
	assert_true(first->speedup.value > 2.75 && first->speedup.value < 2.95);
	assert_string_equal(first->command, "dsa whatif 'my out' --cache 65% "
					    "--cache-policy minio --verify");
	profile_free(&profile);
}

static const struct profile_prediction *of_cores(const struct profile *profile,
						 unsigned least)
{
	for (size_t i = 0; i < profile->prediction_count; i++)
		if (profile->predictions[i].change.cores >= least)
			return &profile->predictions[i];
	fail_msg("nothing is said of %u cores or more", least);
	return NULL;
}

/* 4 cores could do what the accelerator takes; as bounds they lose nothing. */
TEST(advises_the_knee_of_cores)
{
	const struct profile_prediction *cores;
	struct profile profile;

	get_advice(&profile, &known_prep_bound);
	cores = of_cores(&profile, 3);
	assert_int_equal(cores->change.cores, 4);
	assert_true(cores->rank != UNKNOWN);
	assert_true(cores->speedup.low >= 1 && cores->speedup.high > 1.9);
	profile_free(&profile);
}

/* The stall is steps that are slower beside the loader's threads, which prepare enough. */
TEST(cores_are_advised_for_what_prep_needs_alone)
{
	struct known_run run = known_compute_bound;
	const struct profile_prediction *cores;
	struct error err = {0};
	struct profile profile;
	struct model *model;

	run.real = 500 / 1.1;
	known_run_make(&profile, &run);
	known_run_add_window(&profile, "real", 500 / 1.1, 1e-3, 1e-3);
	profile.windows[profile.window_count - 1].blocked_s = 0;
	profile.stalls[STAGE_PREP] = known_about(.09);
	model = model_new(&profile, &err);
	assert_non_null(model);
	assert_int_equal(advise(&profile, model, "out", &err), 0);
	cores = of_cores(&profile, 3);
	assert_int_equal(cores->change.cores, 3);
	assert_true(isnan(cores->speedup.value));
	model_free(model);
	profile_free(&profile);
}

/* Cores gain nothing while storage limits, and that is said. */
TEST(what_does_not_pay_is_listed_with_the_reason)
{
	struct known_run run = known_prep_bound;
	const struct profile_prediction *cores;
	struct profile profile;

	run.bandwidth = 50e6;
	get_advice(&profile, &run);
	cores = &profile.predictions[0];
	assert_true(cores->rank == 1 && !isnan(cores->change.cache_share));
	for (size_t i = 0; i < profile.prediction_count; i++) {
		cores = &profile.predictions[i];
		if (cores->change.cores > 2 && isnan(cores->change.cache_share))
			break;
	}
	assert_true(cores->rank == UNKNOWN);
	assert_string_equal(cores->why, "storage would then limit");
	profile_free(&profile);
}

static void add_recipe(struct profile *profile, const struct profile_change *change,
		       double prep, double bytes)
{
	struct profile_recipe *recipe = profile_add_recipe(profile);

	assert_non_null(recipe);
	recipe->change = *change;
	recipe->prep_ratio = known_about(prep);
	recipe->bytes_ratio = bytes;
	recipe->samples = 100;
}

/* The prediction of the first recipe like this; NULL: none. */
static const struct profile_prediction *of_recipe(const struct profile *profile,
						  const struct profile_change *change)
{
	for (size_t i = 0; i < profile->prediction_count; i++) {
		const struct profile_change *its = &profile->predictions[i].change;

		if (its->resize == change->resize && its->decoded == change->decoded &&
		    its->type.id == change->type.id)
			return &profile->predictions[i];
	}
	fail_msg("%s", "nothing is said of a recipe");
	return NULL;
}

/* Prep of 2000/s: half of its work gives 4000/s, a tenth too; but 9000/s from storage become
 * 1800/s when five times the bytes are stored. */
TEST(other_inputs_are_weighed)
{
	struct profile_change small = PROFILE_NO_CHANGE, less = small, decoded = small,
			      type = small;
	struct profile profile;
	struct error err = {0};
	struct model *model;

	small.resize = 256;
	less.resize = 384;
	decoded.decoded = true;
	type.type.id = 2;
	known_run_make(&profile, &known_prep_bound);
	add_recipe(&profile, &small, .5, .4);
	add_recipe(&profile, &less, .7, .6);
	add_recipe(&profile, &decoded, .1, 5);
	add_recipe(&profile, &type, .99, 1);
	model = model_new(&profile, &err);
	assert_non_null(model);
	assert_int_equal(advise(&profile, model, "out", &err), 0);
	assert_int_equal(profile.predictions[0].rank, 1);
	assert_int_equal(profile.predictions[0].change.resize, 256);
	assert_true(fabs(profile.predictions[0].speedup.value - 2) < .06);
	assert_string_equal(profile.predictions[0].command,
			    "dsa whatif out --resize 256 --verify");
	assert_non_null(strstr(profile.predictions[0].why, "40 KB"));
	assert_true(of_recipe(&profile, &decoded)->rank == UNKNOWN);
	assert_string_equal(of_recipe(&profile, &decoded)->why,
			    "storage would then limit");
	assert_true(of_recipe(&profile, &type)->rank == UNKNOWN);
	model_free(model);
	profile_free(&profile);
}

/* Of sizes with nearly the same gain the larger, which loses less of the pictures. */
TEST(the_largest_size_that_is_enough)
{
	struct profile_change small = PROFILE_NO_CHANGE, less = small;
	struct profile profile;
	struct error err = {0};
	struct model *model;

	small.resize = 256;
	less.resize = 384;
	known_run_make(&profile, &known_prep_bound);
	add_recipe(&profile, &small, .2, .4); /* the accelerator takes 4000/s */
	add_recipe(&profile, &less, .5, .6);
	model = model_new(&profile, &err);
	assert_non_null(model);
	assert_int_equal(advise(&profile, model, "out", &err), 0);
	assert_int_equal(profile.predictions[0].change.resize, 384);
	model_free(model);
	profile_free(&profile);
}

TEST(advises_to_share_what_jobs_prepare_each_for_itself)
{
	struct known_run run = known_prep_bound;
	struct profile profile;

	run.jobs = 2;
	get_advice(&profile, &run);
	assert_int_equal(profile.predictions[0].rank, 1);
	assert_true(profile.predictions[0].change.share);
	assert_int_equal(profile.predictions[0].change.jobs, 2);
	assert_true(fabs(profile.predictions[0].speedup.value / 2 - 1) < .03);
	assert_non_null(
		strstr(profile.predictions[0].command, " --jobs 2 --share --verify"));
	profile_free(&profile);
	run = known_compute_bound;
	run.jobs = 2;
	get_advice(&profile, &run);
	for (size_t i = 0; i < profile.prediction_count; i++)
		assert_false(profile.predictions[i].change.share);
	profile_free(&profile);
}

TEST(advises_nothing_where_nothing_stalls)
{
	struct profile profile;

	get_advice(&profile, &known_compute_bound);
	for (size_t i = 0; i < profile.prediction_count; i++) {
		assert_true(profile.predictions[i].rank == UNKNOWN);
		assert_non_null(profile.predictions[i].why);
	}
	profile_free(&profile);
}

TEST(says_when_an_accelerator_would_be_wasted)
{
	struct profile profile;
	bool said = false;

	get_advice(&profile, &known_fetch_bound);
	for (size_t i = 0; i < profile.prediction_count; i++)
		said |= profile.predictions[i].advice != NULL &&
			strstr(profile.predictions[i].advice, "wasted") != NULL;
	assert_true(said);
	profile_free(&profile);
}

/* Builds the model and ranks, with the nth allocation failing. */
static int try_without(unsigned nth)
{
	struct profile profile;
	struct error err = {0};
	struct model *model;
	int result;

	known_run_make(&profile, &known_fetch_bound);
	nomem_at(nth);
	model = model_new(&profile, &err);
	result = model == NULL ? -err.code : advise(&profile, model, "out", &err);
	nomem_at(0);
	model_free(model);
	profile_free(&profile);
	return result;
}

TEST(survives_without_memory)
{
	for (unsigned nth = 1; nth < 400; nth += 1 + nth / 16)
		assert_int_equal(try_without(nth), -ENOMEM);
	assert_int_equal(try_without(0), 0);
}
