#include "loader/base/error.h"
#include "models/predict/model.h"
#include "models/whatif/verify.h"
#include "tests/lib/known_run.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct profile profile;
static struct profile_prediction prediction;
static struct error err;

static int setup(void **state)
{
	(void)state;
	err = (struct error){0};
	profile_init(&profile);
	memset(&prediction, 0, sizeof(prediction));
	prediction.change = PROFILE_NO_CHANGE;
	prediction.per_s = (struct interval){110, 95, 120};
	prediction.hit_ratio = .5;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(&profile);
	return 0;
}

static int note(unsigned cores, double per_s)
{
	const struct verify_facts facts = {
		.predicted = prediction.per_s,
		.drift = .5,
		.per_s = {per_s, per_s - 1, per_s + 1},
		.hit_ratio = .25,
		.when = "2026-11-20T12:00:00Z",
		.why = "6 whole epochs",
	};

	prediction.change.cores = cores;
	return verify_note(&profile, &prediction, &facts, &err);
}

static const struct profile_verification *last(void)
{
	return &profile.verifications[profile.verification_count - 1];
}

TEST_WITH(a_prediction_stands_beside_what_was_measured, setup, teardown)
{
	assert_int_equal(note(2, 100), 0);
	assert_int_equal(profile.verification_count, 1);
	assert_int_equal(last()->change.cores, 2);
	assert_true(fabs(last()->error - .1) < 1e-12);
	assert_int_equal(last()->covered, 1);
	assert_true(last()->measured.value == 100 && last()->predicted.value == 110);
	assert_true(last()->drift == .5);
	assert_true(last()->hit_ratio == .25 && last()->hit_ratio_predicted == .5);
	assert_string_equal(last()->when, "2026-11-20T12:00:00Z");
	assert_string_equal(last()->why, "6 whole epochs");
}

TEST_WITH(an_interval_covers_its_ends_and_no_more, setup, teardown)
{
	assert_int_equal(note(1, 95), 0);
	assert_int_equal(last()->covered, 1);
	assert_int_equal(note(1, 120), 0);
	assert_int_equal(last()->covered, 1);
	assert_int_equal(note(1, 94.9), 0);
	assert_int_equal(last()->covered, 0);
	assert_int_equal(note(1, 120.1), 0);
	assert_int_equal(last()->covered, 0);
}

TEST_WITH(bounds_cover_without_an_error, setup, teardown)
{
	prediction.per_s.value = NAN;
	assert_int_equal(note(4, 100), 0);
	assert_true(isnan(last()->error));
	assert_int_equal(last()->covered, 1);
}

/* Two windows of a busy machine: 69 samples/s, from none to 363. */
TEST_WITH(what_may_be_anything_judges_no_prediction, setup, teardown)
{
	struct verify_facts facts = {.predicted = prediction.per_s,
				     .drift = 1,
				     .hit_ratio = NAN,
				     .when = "",
				     .why = ""};

	facts.per_s = (struct interval){69, 0, 363};
	assert_int_equal(verify_note(&profile, &prediction, &facts, &err), 0);
	assert_true(isnan(last()->error));
	assert_int_equal(last()->covered, -1);
	facts.per_s = (struct interval){69, 35, 103};
	assert_int_equal(verify_note(&profile, &prediction, &facts, &err), 0);
	assert_true(fabs(last()->error - (110. / 69 - 1)) < 1e-12);
	assert_int_equal(last()->covered, 0);
	facts.per_s = (struct interval){100, NAN, NAN};
	assert_int_equal(verify_note(&profile, &prediction, &facts, &err), 0);
	assert_int_equal(last()->covered, 1);
}

/* Half as fast a machine halves what is predicted, and is no error of the model. */
TEST_WITH(predictions_follow_the_unchanged_run, setup, teardown)
{
	struct profile run;
	struct model *now;
	struct interval per_s;

	known_run_make(&run, &known_prep_bound);
	prediction.change.workers = 2;
	now = verify_model(&run, (struct interval){.5, .5, .5}, &err);
	assert_non_null(now);
	assert_int_equal(verify_predict(now, &prediction, &per_s, &err), 0);
	assert_true(fabs(per_s.value / 1000 - 1) < .02);
	prediction.change.resize = 64; /* not measured: it stays as it was */
	assert_int_equal(verify_predict(now, &prediction, &per_s, &err), 0);
	assert_true(per_s.value == 110);
	model_free(now);
	profile_free(&run);
}

TEST_WITH(without_a_prediction_nothing_is_made_up, setup, teardown)
{
	prediction.per_s = INTERVAL_UNKNOWN;
	assert_int_equal(note(4, 100), 0);
	assert_true(isnan(last()->error));
	assert_int_equal(last()->covered, -1);
	assert_true(last()->measured.value == 100);
}

TEST_WITH(the_newest_of_each_come_last_in_order, setup, teardown)
{
	struct profile_change wanted[3];
	static const double in_order[] = {9, 3, 6, 5, 4};

	for (unsigned i = 0; i < 3; i++) {
		wanted[i] = PROFILE_NO_CHANGE;
		wanted[i].cores = 3 - i;
	}
	assert_int_equal(note(9, 9), 0); /* none of these */
	assert_int_equal(note(2, 3), 0); /* an older one */
	assert_int_equal(note(1, 4), 0);
	assert_int_equal(note(2, 5), 0);
	assert_int_equal(note(3, 6), 0);
	assert_true(verify_done(&profile, &wanted[0]));
	assert_int_equal(verify_sort(&profile, wanted, 3), 2);
	for (size_t i = 0; i < 5; i++)
		assert_true(profile.verifications[i].measured.value == in_order[i]);
}

TEST_WITH(what_was_not_measured_is_not_there, setup, teardown)
{
	struct profile_change wanted = PROFILE_NO_CHANGE;

	assert_false(verify_done(&profile, &wanted));
	assert_int_equal(verify_sort(&profile, &wanted, 1), 0);
	assert_int_equal(note(9, 9), 0);
	assert_int_equal(verify_sort(&profile, &wanted, 1), 1);
}

TEST_WITH(memory_may_be_short, setup, teardown)
{
	int result = -ENOMEM;

	for (unsigned n = 1; result == -ENOMEM; n++) {
		nomem_at(n);
		result = note(2, 100);
		nomem_at(0);
		assert_true(n < 20);
	}
	assert_int_equal(result, 0);
}
