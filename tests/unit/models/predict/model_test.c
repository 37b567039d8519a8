/* model_test.c - predictions of made-up runs whose truth is known. */
#include "loader/base/error.h"
#include "models/predict/cost.h"
#include "models/predict/model.h"
#include "tests/lib/close_to.h"
#include "tests/lib/known_run.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

TEST(predicts_a_cache)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.cache_share = .5;
	known_run_expect(&known_fetch_bound, &change, 1000);
	change.cache_share = 1;
	known_run_expect(&known_fetch_bound, &change, 1500);
	change.cache_share = 0;
	known_run_expect(&known_fetch_bound, &change, 500);
}

/* Half of the data in memory is no half of the reads: .213 of them. */
TEST(knows_the_hits_of_the_kernel)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct known_run run = known_fetch_bound;

	run.kernel = .213;
	run.real = 500 / (1 - .213);
	change.workers = 2;
	known_run_expect(&run, &change, run.real);
}

TEST(predicts_storage)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.storage_bandwidth = 100e6;
	known_run_expect(&known_fetch_bound, &change, 1000);
	change.storage_bandwidth = 50e6;
	change.storage_latency_s = 64e-3; /* 16 in flight */
	known_run_expect(&known_fetch_bound, &change, 250);
}

/* 1200 samples/s reach the device, whatever else gets faster. */
TEST(knows_copies_to_a_device)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct known_run run = known_prep_bound;
	struct profile_prediction *prediction;
	struct profile profile;

	run.copy_per_s = 1200;
	change.gpu_speed = 2;
	known_run_expect(&run, &change, 1200);
	change.storage_bandwidth = 50e6;
	known_run_expect(&run, &change, 500);
	known_run_make(&profile, &run);
	change = PROFILE_NO_CHANGE;
	change.workers = 2;
	prediction = known_run_predict(&profile, &change);
	assert_float_equal(prediction->stalls[STAGE_COPY].value, 1 - 1200. / 4000, .01);
	assert_float_equal(prediction->stalls[STAGE_PREP].value, 0, .01);
	assert_int_equal(prediction->limit.id, STAGE_COPY);
	profile_free(&profile);
}

/* Narrower numbers are copied faster, unless bytes are copied anyway. */
TEST(knows_what_types_do_to_copies)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct known_run run = known_prep_bound;
	struct profile profile;

	run.copy_per_s = 600;
	change.type.id = 1; /* float16 */
	for (int as_bytes = 0; as_bytes < 2; as_bytes++) {
		struct profile_recipe *recipe;

		known_run_make(&profile, &run);
		profile_text(&profile.output, "float32 NCHW 224");
		profile_text(&profile.transfer, as_bytes ? "uint8" : "output");
		recipe = profile_add_recipe(&profile);
		assert_non_null(recipe);
		recipe->change.type.id = 1;
		recipe->prep_ratio = (struct interval){1, 1, 1};
		recipe->bytes_ratio = 1;
		assert_float_equal(known_run_predict(&profile, &change)->per_s.value,
				   as_bytes ? 600 : 1200, 20);
		profile_free(&profile);
	}
}

TEST(predicts_fewer_cores)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.cores = 1; /* reads, and the consumer's own work, share the core */
	known_run_expect(&known_prep_bound, &change, 1 / (1e-3 + 10e-6 + 5e-6));
}

/* The same, whatever prep takes where no step computes beside it. */
TEST(prep_is_known_from_windows_with_a_step)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	change.cores = 1;
	known_run_make(&profile, &known_prep_bound);
	for (int i = 0; i < 8; i++)
		known_run_add_window(&profile, "prep", 2500, .8e-3, .8e-3);
	assert_float_equal(known_run_predict(&profile, &change)->per_s.value,
			   1 / (1e-3 + 10e-6 + 5e-6), 20);
	profile_free(&profile);
}

/* Workers that sleep are no work for the cores. */
TEST(predicts_workers_of_a_delayed_prep)
{
	struct known_run run = known_compute_bound;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	run.compute_per_s = 2000;
	run.real = 200; /* 2 workers, 10 ms */
	known_run_make(&profile, &run);
	profile.prep_delay_s = .01;
	profile.rates[TRACE_CACHED] = known_about(200);
	known_run_add_window(&profile, "prep", 200, 1e-3, 1e-3);
	change.workers = 8;
	assert_true(fabs(known_run_predict(&profile, &change)->per_s.value / 800 - 1) <
		    .03);
	profile_free(&profile);
}

/* NAN: it refuses to answer. */
static double predicted_or_nan(struct profile *profile,
			       const struct profile_change *change)
{
	struct error err = {0};
	struct model *model = model_new(profile, &err);
	struct profile_prediction *prediction = profile_add_prediction(profile);
	double value = NAN;

	assert_non_null(model);
	if (model_predict(model, change, prediction, &err) == 0)
		value = prediction->per_s.value;
	model_free(model);
	return value;
}

static void add_draws(struct profile *profile, size_t count, double prep_s)
{
	while (count-- > 0) {
		struct profile_draw *draw = profile_add_draw(profile);

		assert_non_null(draw);
		*draw = (struct profile_draw){100000, NAN, prep_s};
	}
}

/* Of 2 ms each on average, one in four takes 5, and is not delayed: 3 ms by timers that
 * are .05 late. */
TEST(knows_samples_that_take_longer_than_the_delay)
{
	struct known_run run = known_compute_bound;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;
	double truth = 4 / (.75 * 3.05e-3 + .25 * 5e-3);

	run.compute_per_s = 2000;
	run.prep_s = 2e-3;
	run.cores = 8;
	run.real = truth / 2; /* 2 workers */
	known_run_make(&profile, &run);
	profile.prep_delay_s = 3e-3;
	profile.rates[TRACE_CACHED] = known_about(run.real);
	add_draws(&profile, 75, 3.05e-3);
	add_draws(&profile, 25, 5e-3);
	change.workers = 4;
	assert_true(fabs(known_run_predict(&profile, &change)->per_s.value / truth -
			 1) < .01);
	profile_free(&profile);
}

static void add_device(struct profile *profile, double busy_s)
{
	struct profile_device *device = profile_add_device(profile);

	assert_non_null(device);
	device->kind.id = TRACE_SYNTHETIC;
	device->length_s = 1;
	device->busy_s = busy_s;
}

/* On two cores with two workers: a step's CPU time is work, unless kernels ran meanwhile. */
TEST(tells_waiting_for_kernels_from_work)
{
	for (int seen = 0; seen < 2; seen++) {
		struct profile_change change = PROFILE_NO_CHANGE;
		struct profile profile;

		(void)state;
		known_run_make(&profile, &known_compute_bound);
		profile.emulated_per_s = NAN;
		for (size_t i = 0; i < profile.window_count; i++)
			if (profile.windows[i].kind.id == TRACE_SYNTHETIC)
				profile.windows[i].cpu_s = profile.windows[i].length_s;
		if (seen)
			add_device(&profile, 1);
		change.gpu_speed = 2;
		if (seen)
			assert_float_equal(
				known_run_predict(&profile, &change)->per_s.value, 1000,
				10);
		else
			assert_true(isnan(predicted_or_nan(&profile, &change)));
		profile_free(&profile);
	}
}

/* Real steps were 10 % slower than others, and waited for nothing: the model says why it is
 * off, or knows it. */
TEST(takes_steps_that_were_slow_as_they_were)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct known_run run = known_compute_bound;
	struct profile_prediction *same;
	struct profile profile;

	run.real = 500 / 1.1;
	known_run_make(&profile, &run);
	change.workers = 2;
	assert_true(isnan(predicted_or_nan(&profile, &change)));
	known_run_add_window(&profile, "real", 500 / 1.1, 1e-3, 1e-3);
	profile.windows[profile.window_count - 1].blocked_s = 0;
	same = known_run_predict(&profile, &change);
	assert_float_equal(same->per_s.value, 500 / 1.1, 5);
	/* they may be half as slow, or twice */
	assert_true(same->per_s.high >= 500 / 1.05 && same->per_s.low <= 500 / 1.2);
	profile_free(&profile);
}

/* That the loader's threads would take less from a step on more cores, no run shows. */
TEST(slow_steps_may_stay_so_on_more_cores)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct known_run run = known_compute_bound;
	struct profile_prediction *more;
	struct profile profile;

	run.real = 500 / 1.1;
	known_run_make(&profile, &run);
	known_run_add_window(&profile, "real", 500 / 1.1, 1e-3, 1e-3);
	profile.windows[profile.window_count - 1].blocked_s = 0;
	change.cores = 64;
	more = known_run_predict(&profile, &change);
	assert_true(isnan(more->per_s.value) && isnan(more->speedup.value));
	assert_float_equal(more->per_s.low, 500 / 1.1, 5);
	assert_float_equal(more->speedup.low, 1, 1e-9);
	assert_true(more->per_s.high >= 499);
	profile_free(&profile);
}

/* An evaluation in one window of each kind, on 4 cores for 2 s. */
TEST(pauses_are_no_part_of_the_step)
{
	static const char *const kinds[] = {"synthetic", "cached", "real"};
	struct profile_change change = PROFILE_NO_CHANGE;
	double per_s[2];

	change.cores = 2;
	change.gpu_speed = 2;
	for (int paused = 0; paused < 2; paused++) {
		struct profile profile;

		known_run_make(&profile, &known_compute_bound);
		for (int i = 0; i < 3; i++) {
			struct profile_window *window;

			known_run_add_window(&profile, kinds[i], 490, 1e-3, 1e-3);
			window = &profile.windows[profile.window_count - 1];
			window->blocked_s = 0;
			window->outside_s = 2 * paused;
			window->length_s += 2 * paused;
			window->cpu_s += 8 * paused;
		}
		per_s[paused] = known_run_predict(&profile, &change)->per_s.value;
		profile_free(&profile);
	}
	assert_float_equal(per_s[0], per_s[1], 1e-6);
}

TEST(predicts_an_accelerator)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.gpu_speed = .5;
	known_run_expect(&known_compute_bound, &change, 250);
	change.gpu_speed = 2;
	known_run_expect(&known_compute_bound, &change, 1000);
	change.gpu_speed = 10;
	known_run_expect(&known_compute_bound, &change, 1970);
	change.batch = 64;
	change.gpu_speed = NAN;
	known_run_expect(&known_compute_bound, &change, 500);
}

/* Prep of a tenth, and reads whose work falls by .1 to 1: on two cores that are full. */
TEST(predicts_pictures_stored_smaller)
{
	struct known_run run = known_prep_bound;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;

	run.compute_per_s = 40000;
	known_run_make(&profile, &run);
	known_run_add_tenth(&profile, 64);
	change.resize = 64;
	prediction = known_run_predict(&profile, &change);
	assert_true(prediction->per_s.low < 2 / (100e-6 + 10e-6 + 5e-6));
	assert_in_range(prediction->per_s.value, 17900, 18800);
	assert_true(prediction->per_s.high > 2 / (100e-6 + 1e-6 + 5e-6));
	profile_free(&profile);
}

TEST(gives_only_bounds_beyond_the_machine)
{
	struct profile profile;
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;

	change.cores = 4;
	known_run_make(&profile, &known_prep_bound);
	prediction = known_run_predict(&profile, &change);
	assert_true(isnan(prediction->per_s.value));
	assert_in_range(prediction->per_s.low, 1850, 2010);
	assert_in_range(prediction->per_s.high, 3800, 4300);
	assert_non_null(prediction->why);
	profile_free(&profile);
}

TEST(knows_what_it_cannot_know)
{
	struct profile profile;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct error err = {0};
	struct model *model;

	known_run_make(&profile, &known_fetch_bound);
	model = model_new(&profile, &err);
	assert_non_null(model);
	prediction = profile_add_prediction(&profile);
	change.storage_bandwidth = 0; /* nothing was measured without the throttle */
	assert_int_equal(model_predict(model, &change, prediction, &err), -ENODATA);
	assert_non_null(strstr(err.message, "only slowed"));
	change = PROFILE_NO_CHANGE;
	change.cache_share = 3;
	assert_int_equal(model_predict(model, &change, prediction, &err), -EINVAL);
	change = PROFILE_NO_CHANGE;
	change.cache_share = .5;
	change.cache_policy.other = (char *)(uintptr_t) "mru";
	assert_int_equal(model_predict(model, &change, prediction, &err), -EINVAL);
	assert_non_null(strstr(err.message, "mru"));
	model_free(model);
	profile_free(&profile);
}

/* The model's rate of the run, which was measured to do `rate`, give or take a share; NAN:
 * it refuses to answer. */
static double modelled(double rate, double half)
{
	struct profile profile;
	struct error err = {0};
	struct model *model;
	double value;

	known_run_make(&profile, &known_prep_bound);
	profile.rates[TRACE_REAL] =
		(struct interval){rate, rate * (1 - half), rate * (1 + half)};
	model = model_new(&profile, &err);
	assert_non_null(model);
	assert_int_equal(model_note(model, &profile), 0);
	value = profile.model.why == NULL ? profile.model.real.value : NAN;
	model_free(model);
	profile_free(&profile);
	return value;
}

TEST(model_and_run_may_both_be_off)
{
	double rate = modelled(2000, .001);

	assert_true(modelled(rate / 1.019, .001) == rate);
	assert_true(isnan(modelled(rate / 1.022, .001)));
	assert_true(modelled(rate / 1.022, .015) == rate);
	assert_true(isnan(modelled(rate / 1.027, .015)));
	assert_true(modelled(rate / 1.027, .02) == rate);
}

/* By some 5 %, which the interval of what was measured holds. */
TEST(a_model_that_is_off_is_no_surer_of_a_change)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;
	struct profile_prediction *prediction;

	known_run_make(&profile, &known_prep_bound);
	profile.rates[TRACE_REAL] = (struct interval){1860, 1720, 2000};
	change.gpu_speed = 2;
	prediction = known_run_predict(&profile, &change);
	assert_true(prediction->per_s.low < .95 * prediction->per_s.value);
	assert_true(prediction->per_s.high > 1.05 * prediction->per_s.value);
	profile_free(&profile);
}

/* 2000 samples of 2000 a second on two cores of 1 an hour. */
TEST(an_epoch_of_the_run_as_it_was_has_its_cost)
{
	const struct prices prices = {.currency = "EUR",
				      .core_hour = 1,
				      .memory_gb_hour = NAN,
				      .gpu_hour = NAN,
				      .storage_gb_month = NAN,
				      .request = NAN,
				      .listing = NAN,
				      .egress_gb = NAN,
				      .accelerators = 1};
	struct profile profile;
	struct error err = {0};
	struct model *model;

	known_run_make(&profile, &known_prep_bound);
	model = model_new(&profile, &err);
	assert_non_null(model);
	model_price(model, &prices);
	assert_int_equal(model_note(model, &profile), 0);
	close_to(profile.cost.value * 1800, 1, .03);
	assert_true(profile.cost.low < profile.cost.value &&
		    profile.cost.value < profile.cost.high);
	model_free(model);
	profile_free(&profile);
}
