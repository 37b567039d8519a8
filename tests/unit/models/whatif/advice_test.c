/* advice_test.c - what is advised of runs that wait for one thing. */
#include "loader/base/error.h"
#include "models/predict/model.h"
#include "models/whatif/advice.h"
#include "tests/lib/known_run.h"
#include "tests/lib/nomem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void predicts_nothing_of_a_run_it_does_not_understand(void **state)
{
	struct known_run run = known_fetch_bound;
	struct profile profile;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct error err = {0};
	struct model *model;

	(void)state;
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

static void advises_the_smallest_cache_that_is_enough(void **state)
{
	struct profile profile;
	const struct profile_prediction *first;

	(void)state;
	get_advice(&profile, &known_fetch_bound);
	assert_true(profile.prediction_count > 0);
	first = &profile.predictions[0];
	assert_int_equal(first->rank, 1);
	assert_non_null(
		strstr(first->advice, "minio cache of 70%")); /* 500/.3 > 1500 */
	assert_true(first->speedup.value > 2.8 && first->speedup.value < 3.1);
	assert_string_equal(first->command, "dsa whatif 'my out' --cache 70% "
					    "--cache-policy minio --verify");
	profile_free(&profile);
}

static void advises_cores_where_prep_stalls(void **state)
{
	struct profile profile;

	(void)state;
	get_advice(&profile, &known_prep_bound);
	assert_int_equal(profile.predictions[0].rank, 1);
	assert_true(profile.predictions[0].change.cores > 2);
	profile_free(&profile);
}

static void advises_to_share_what_jobs_prepare_each_for_itself(void **state)
{
	struct known_run run = known_prep_bound;
	struct profile profile;

	(void)state;
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

static void advises_nothing_where_nothing_stalls(void **state)
{
	struct profile profile;

	(void)state;
	get_advice(&profile, &known_compute_bound);
	for (size_t i = 0; i < profile.prediction_count; i++) {
		assert_true(profile.predictions[i].rank == UNKNOWN);
		assert_non_null(profile.predictions[i].why);
	}
	profile_free(&profile);
}

static void says_when_an_accelerator_would_be_wasted(void **state)
{
	struct profile profile;
	bool said = false;

	(void)state;
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

static void survives_without_memory(void **state)
{
	(void)state;
	for (unsigned nth = 1; nth < 400; nth += 1 + nth / 16)
		assert_int_equal(try_without(nth), -ENOMEM);
	assert_int_equal(try_without(0), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(predicts_nothing_of_a_run_it_does_not_understand),
		cmocka_unit_test(advises_the_smallest_cache_that_is_enough),
		cmocka_unit_test(advises_cores_where_prep_stalls),
		cmocka_unit_test(advises_to_share_what_jobs_prepare_each_for_itself),
		cmocka_unit_test(advises_nothing_where_nothing_stalls),
		cmocka_unit_test(says_when_an_accelerator_would_be_wasted),
		cmocka_unit_test(survives_without_memory),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
