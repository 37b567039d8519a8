/* drift_test.c - what is predicted of a machine that is slower now than it was. */
#include "loader/base/error.h"
#include "models/predict/drift.h"
#include "models/predict/model.h"
#include "tests/lib/known_run.h"
#include "tests/lib/test.h"

#include <stddef.h>

static struct profile profile;
static struct profile_prediction prediction;

/* The unchanged run does .9 of what it did. */
static const struct interval slower = {.9, .9, .9};

static void predict(const struct profile_change *change, struct interval drift)
{
	struct error err = {0};
	struct model *model = model_new(&profile, &err);

	prediction = (struct profile_prediction){.rank = UNKNOWN};
	if (model == NULL || drift_follow(model, drift, &err) < 0 ||
	    model_predict(model, change, &prediction, &err) < 0)
		fail_msg("%s", err.message);
	profile_prediction_free(&prediction);
	model_free(model);
}

static void expect(const struct profile_change *change, struct interval drift,
		   double truth)
{
	predict(change, drift);
	if (fabs(prediction.per_s.value / truth - 1) > .02)
		fail_msg("predicted %g, the truth is %g", prediction.per_s.value,
			 truth);
}

/* Half the work of the cores stays theirs, but without it an emulated accelerator limits,
 * which is as fast as ever. */
TEST(slow_cores_slow_no_emulated_accelerator)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	known_run_make(&profile, &known_prep_bound);
	known_run_add_tenth(&profile, 64);
	expect(&change, slower, .9 * 2000);
	change.cores = 1;
	expect(&change, slower, .9 / (1e-3 + 10e-6 + 5e-6));
	change.cores = 0;
	change.resize = 64;
	expect(&change, slower, 4000);
	profile_free(&profile);
}

TEST(a_real_accelerator_may_be_slower)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	known_run_make(&profile, &known_compute_bound);
	expect(&change, slower, 500);
	profile.emulated_per_s = NAN;
	expect(&change, slower, .9 * 500);
	change.cores = 1;
	expect(&change, slower, .9 * 500);
	profile_free(&profile);
}

/* An emulated storage gives what it gave: what was measured was measured badly. */
TEST(what_nothing_explains_changes_nothing)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	known_run_make(&profile, &known_fetch_bound);
	expect(&change, slower, 500);
	change.cache_share = .5;
	expect(&change, slower, 1000);
	expect(&change, (struct interval){1, .99, 1.01}, 1000);
	profile_free(&profile);
}

TEST(an_unsure_drift_makes_unsure)
{
	const struct profile_change none = PROFILE_NO_CHANGE;
	double half;

	known_run_make(&profile, &known_prep_bound);
	predict(&none, slower);
	half = interval_half(prediction.per_s);
	predict(&none, (struct interval){.9, .8, 1});
	assert_true(interval_half(prediction.per_s) > half);
	assert_true(prediction.per_s.low < .83 * 2000);
	profile_free(&profile);
}
