/* model_test.c - predictions of made-up runs whose truth is known. */
#include "loader/base/error.h"
#include "models/predict/cost.h"
#include "models/predict/model.h"
#include "models/whatif/advice.h"
#include "models/whatif/command.h"
#include "profiler/profile.h"
#include "tests/lib/nomem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A run on some cores: an emulated accelerator, prep that scales, throttled storage. */
struct run {
	double compute_per_s; /* of the accelerator */
	double prep_s;        /* CPU of a sample */
	unsigned cores, workers;
	double bandwidth; /* 0: not throttled */
	double latency_s;
	double share;  /* of a minio cache */
	double real;   /* 0: as the closed form says */
	unsigned jobs; /* 0: one; measured side by side, each with a loader */
	double kernel; /* 0: hits of the page cache, of a storage that nothing throttles */
};

enum { SAMPLES = 2000, BYTES = 100000, BATCH = 32 };

static const struct run fetch_bound = {.compute_per_s = 1500,
				       .prep_s = 1e-3,
				       .cores = 2,
				       .workers = 2,
				       .bandwidth = 50e6};
static const struct run prep_bound = {.compute_per_s = 4000,
				      .prep_s = 1e-3,
				      .cores = 2,
				      .workers = 2,
				      .bandwidth = 900e6};
static const struct run compute_bound = {.compute_per_s = 500,
					 .prep_s = 1e-3,
					 .cores = 2,
					 .workers = 2,
					 .bandwidth = 900e6};

static double prep_rate(const struct run *run, unsigned k)
{
	return (k < run->cores ? k : run->cores) / run->prep_s;
}

/* What the others leave of it. */
static double own_prep_rate(const struct run *run)
{
	return prep_rate(run, run->workers) / (run->jobs > 1 ? run->jobs : 1);
}

static double fetch_rate(const struct run *run)
{
	return run->bandwidth / BYTES / (1 - run->share);
}

static double closed_form(const struct run *run)
{
	return fmin(run->compute_per_s, fmin(own_prep_rate(run), fetch_rate(run)));
}

static void add_window(struct profile *profile, const char *kind, double per_s,
		       double cpu_s, double prep_cpu_s)
{
	struct profile_window *window = profile_add_window(profile);

	assert_non_null(window);
	assert_int_equal(profile_word_set(&window->kind, profile_kinds, kind), 0);
	window->used = window->certified = true;
	window->length_s = 1;
	window->samples = (uint64_t)per_s;
	window->per_s = per_s;
	window->cpu_s = cpu_s * per_s;
	window->prep_cpu_s = prep_cpu_s * per_s;
	window->prepared = prep_cpu_s > 0 ? (uint64_t)per_s : 0;
	window->prep_busy_s = prep_cpu_s * per_s;
}

static void add_curves(struct profile *profile, const struct run *run)
{
	for (unsigned k = 1; k <= run->cores; k++) {
		struct profile_point *point = profile_add_prep_point(profile);
		double rate = prep_rate(run, k);

		point->x = k;
		point->per_s = (struct interval){rate, rate * .99, rate * 1.01};
		point->cpu_s_per_sample = run->prep_s;
	}
	for (unsigned q = 1; q <= 32; q *= 2) {
		struct profile_point *point = profile_add_fetch_point(profile);
		double each = run->latency_s + BYTES / run->bandwidth;

		point->x = q;
		point->per_s.value = fmin(q / each, run->bandwidth / BYTES);
		point->bytes_per_s = point->per_s.value * BYTES;
		point->cpu_s_per_sample = 10e-6;
	}
}

static struct interval about(double value)
{
	return (struct interval){value, value * .99, value * 1.01};
}

static void set_rates(struct profile *profile, const struct run *run)
{
	double cached = fmin(run->compute_per_s, own_prep_rate(run));
	double real = run->real > 0 ? run->real : closed_form(run);

	profile->rates[TRACE_SYNTHETIC] = about(run->compute_per_s);
	profile->rates[TRACE_CACHED] = about(cached);
	profile->rates[TRACE_REAL] = about(real);
	profile->stalls[STAGE_COMPUTE] =
		(struct interval){real / run->compute_per_s, 0, 1};
	profile->stalls[STAGE_PREP].value = real / cached - real / run->compute_per_s;
	profile->stalls[STAGE_PREP].low = profile->stalls[STAGE_PREP].value - .005;
	profile->stalls[STAGE_FETCH].value = 1 - real / cached;
	profile->stalls[STAGE_FETCH].low = profile->stalls[STAGE_FETCH].value - .005;
	for (int i = 0; i < 8; i++) {
		add_window(profile, "synthetic", run->compute_per_s, 5e-6, 0);
		add_window(profile, "cached", cached, run->prep_s, run->prep_s);
	}
}

static void set_jobs(struct profile *profile, const struct run *run)
{
	profile->together = about(run->jobs * profile->rates[TRACE_REAL].value);
	for (uint64_t i = 0; i < run->jobs; i++) {
		struct profile_job *job = profile_add_job(profile);

		assert_non_null(job);
		job->job = i;
		job->rates[TRACE_REAL] = profile->rates[TRACE_REAL];
	}
}

static void set_kernel(struct profile *profile, const struct run *run)
{
	profile->cache.id = CACHE_PAGE;
	profile->storage_bandwidth = NAN;
	profile->cache_emulated = true;
	profile->hit_ratio = about(run->kernel);
}

static void make(struct profile *profile, const struct run *run)
{
	profile_init(profile);
	profile->dataset_samples = SAMPLES;
	profile->dataset_bytes = (uint64_t)SAMPLES * BYTES;
	profile->batch = BATCH;
	profile->workers = run->workers;
	profile->cores = run->cores;
	profile->prefetch = 4;
	profile->fetch_depth = 16;
	profile->precision = .01;
	profile->emulated_per_s = run->compute_per_s;
	profile->storage_bandwidth = run->bandwidth;
	if (run->latency_s > 0)
		profile->storage_latency_s = run->latency_s;
	profile->cache_share = run->share > 0 ? run->share : NAN;
	profile_word_set(&profile->engine, profile_engines, "uring");
	profile->cache.id = run->share > 0 ? CACHE_MINIO : CACHE_NONE;
	add_curves(profile, run);
	set_rates(profile, run);
	if (run->kernel > 0)
		set_kernel(profile, run);
	if (run->jobs > 0)
		set_jobs(profile, run);
}

/* The prediction of a change, which ends with profile_free(). */
static struct profile_prediction *predict(struct profile *profile,
					  const struct profile_change *change)
{
	struct error err = {0};
	struct model *model = model_new(profile, &err);
	struct profile_prediction *prediction = profile_add_prediction(profile);

	if (model == NULL)
		fail_msg("%s", err.message);
	if (model_predict(model, change, prediction, &err) < 0)
		fail_msg("%s", err.message);
	model_free(model);
	return prediction;
}

static void expect_rate(const struct run *run, const struct profile_change *change,
			double truth)
{
	struct profile profile;
	struct profile_prediction *prediction;

	make(&profile, run);
	prediction = predict(&profile, change);
	if (fabs(prediction->per_s.value / truth - 1) > .03)
		fail_msg("predicted %g, the truth is %g", prediction->per_s.value,
			 truth);
	assert_true(prediction->per_s.low < truth && truth < prediction->per_s.high);
	assert_float_equal(prediction->stalls[STAGE_COMPUTE].value +
				   prediction->stalls[STAGE_PREP].value +
				   prediction->stalls[STAGE_FETCH].value,
			   1, 1e-9);
	profile_free(&profile);
}

static void predicts_a_cache(void **state)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	(void)state;
	change.cache_share = .5;
	expect_rate(&fetch_bound, &change, 1000);
	change.cache_share = 1;
	expect_rate(&fetch_bound, &change, 1500);
	change.cache_share = 0;
	expect_rate(&fetch_bound, &change, 500);
}

/* Half of the data in memory is no half of the reads: .213 of them. */
static void knows_the_hits_of_the_kernel(void **state)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct run run = fetch_bound;

	(void)state;
	run.kernel = .213;
	run.real = 500 / (1 - .213);
	change.workers = 2;
	expect_rate(&run, &change, run.real);
}

static void predicts_storage(void **state)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	(void)state;
	change.storage_bandwidth = 100e6;
	expect_rate(&fetch_bound, &change, 1000);
	change.storage_bandwidth = 50e6;
	change.storage_latency_s = 64e-3; /* 16 in flight */
	expect_rate(&fetch_bound, &change, 250);
}

static void predicts_fewer_cores(void **state)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	(void)state;
	change.cores = 1; /* reads, and the consumer's own work, share the core */
	expect_rate(&prep_bound, &change, 1 / (1e-3 + 10e-6 + 5e-6));
}

/* Workers that sleep are no work for the cores. */
static void predicts_workers_of_a_delayed_prep(void **state)
{
	struct run run = compute_bound;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	(void)state;
	run.compute_per_s = 2000;
	run.real = 200; /* 2 workers, 10 ms */
	make(&profile, &run);
	profile.prep_delay_s = .01;
	profile.rates[TRACE_CACHED] = about(200);
	add_window(&profile, "prep", 200, 1e-3, 1e-3);
	change.workers = 8;
	assert_true(fabs(predict(&profile, &change)->per_s.value / 800 - 1) < .03);
	profile_free(&profile);
}

static void predicts_an_accelerator(void **state)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	(void)state;
	change.gpu_speed = .5;
	expect_rate(&compute_bound, &change, 250);
	change.gpu_speed = 2;
	expect_rate(&compute_bound, &change, 1000);
	change.gpu_speed = 10;
	expect_rate(&compute_bound, &change, 1970);
	change.batch = 64;
	change.gpu_speed = NAN;
	expect_rate(&compute_bound, &change, 500);
}

/* Of a run that G, P or F limits: so many jobs with a loader each, and with one. */
static void predicts_several_jobs(void **state)
{
	static const struct {
		const struct run *run;
		unsigned jobs;
		double own, shared; /* samples/s of all */
	} lines[] = {
		{&prep_bound, 1, 2000, 2000},
		{&prep_bound, 2, 2000, 4000},

		/* 2 cores / (1.01 ms / 5 + 5 us that each step works on a core) */
		{&prep_bound, 5, 2000, 9662},
		{&compute_bound, 4, 2000, 2000},
		{&fetch_bound, 3, 1500, 1500}, /* emulated for each job */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct profile_change change = PROFILE_NO_CHANGE;

		change.jobs = lines[i].jobs;
		expect_rate(lines[i].run, &change, lines[i].own);
		change.share = true;
		expect_rate(lines[i].run, &change, lines[i].shared);
	}
}

/* One fast and one slow: each at its own pace, or both at that of the slow one. */
static void predicts_jobs_of_different_speeds(void **state)
{
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	(void)state;
	change.jobs = 2;
	change.job_speed[0] = 1;
	change.job_speed[1] = .25;
	expect_rate(&compute_bound, &change, 625);
	expect_rate(&prep_bound, &change, 2000);
	change.share = true;
	expect_rate(&compute_bound, &change, 250);
	make(&profile, &prep_bound);
	prediction = predict(&profile, &change);
	assert_true(fabs(prediction->per_job.value / 1000 - 1) < .03);
	assert_true(prediction->per_job.high == prediction->per_s.high / 2);
	assert_non_null(strstr(prediction->why, "at the pace of the slowest"));
	profile_free(&profile);
}

static void told(const char *why, const char *what, double wanted)
{
	const char *at = strstr(why, what);

	if (at == NULL || fabs(strtod(at + strlen(what), NULL) / wanted - 1) > .03)
		fail_msg("%s: no%s%g", why, what, wanted);
}

static void tells_what_jobs_take(void **state)
{
	struct run run = prep_bound;
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	(void)state;
	run.share = .5;
	make(&profile, &run);
	profile.sample_bytes = 1000000;
	change.jobs = 4;
	prediction = predict(&profile, &change);
	/* 4 x (6 slots x 32 x 1 MB + 100 MB); 2000 samples/s, half of them read */
	told(prediction->why, "; memory ", 1168);
	told(prediction->why, "; reads ", 100);
	told(prediction->why, "; prep ", 2);
	assert_non_null(strstr(prediction->why, "emulated storage to itself"));
	change.share = true;
	prediction = predict(&profile, &change);
	/* 8 x 32 x 1 MB + 100 MB; 8000 samples/s, 2000 of them prepared */
	told(prediction->why, "; memory ", 356);
	told(prediction->why, " MB, not ", 1168);
	told(prediction->why, "; prep ", 2);
	told(prediction->why, " cores, not ", 8);
	profile_free(&profile);
}

static void jobs_share_what_the_machine_costs(void **state)
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

	(void)state;
	make(&profile, &prep_bound);
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

/* Nothing throttles it: the loaders of all jobs meet there, with more reads in flight. */
static void jobs_meet_at_a_real_storage(void **state)
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
	struct run run = fetch_bound;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct profile_prediction *prediction;
		struct profile_change change = PROFILE_NO_CHANGE;
		struct profile profile;

		run.latency_s = lines[i].latency_s;
		run.real = run.latency_s > 0 ? 16 / .102 : 500;
		make(&profile, &run);
		profile.storage_bandwidth = profile.storage_latency_s = NAN;
		change.jobs = lines[i].jobs;
		prediction = predict(&profile, &change);
		if (fabs(prediction->per_s.value / lines[i].own - 1) > .03)
			fail_msg("line %zu: %g, not %g", i, prediction->per_s.value,
				 lines[i].own);
		change.share = true; /* it reads alone */
		prediction = predict(&profile, &change);
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

static void knows_jobs_that_ran_side_by_side(void **state)
{
	struct run run = prep_bound;
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;
	struct error err = {0};

	(void)state;
	run.jobs = 4;
	make(&profile, &run);
	change.cores = 1;
	prediction = predict(&profile, &change); /* of all four */
	assert_true(fabs(prediction->per_s.value / 1000 - 1) < .03);
	assert_true(fabs(prediction->speedup.value / .5 - 1) < .03);
	assert_true(fabs(prediction->per_job.value / 250 - 1) < .03);
	change = PROFILE_NO_CHANGE;
	change.jobs = 1;
	prediction = predict(&profile, &change);
	assert_true(fabs(prediction->per_s.value / 2000 - 1) < .03);
	profile.together = about(4000); /* one of them is not as job 0 */
	assert_int_equal(predict_itself(&profile, &err), -ENODATA);
	assert_non_null(strstr(err.message, "not identifiable"));
	profile.shared = true;
	assert_null(model_new(&profile, &err));
	assert_non_null(strstr(err.message, "share a loader"));
	profile_free(&profile);
}

static void refuses_jobs_without_sense(void **state)
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

	(void)state;
	make(&profile, &prep_bound);
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

static void gives_only_bounds_beyond_the_machine(void **state)
{
	struct profile profile;
	struct profile_prediction *prediction;
	struct profile_change change = PROFILE_NO_CHANGE;

	(void)state;
	change.cores = 4;
	make(&profile, &prep_bound);
	prediction = predict(&profile, &change);
	assert_true(isnan(prediction->per_s.value));
	assert_in_range(prediction->per_s.low, 1850, 2010);
	assert_in_range(prediction->per_s.high, 3800, 4300);
	assert_non_null(prediction->why);
	profile_free(&profile);
}

static void knows_what_it_cannot_know(void **state)
{
	struct profile profile;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct error err = {0};
	struct model *model;

	(void)state;
	make(&profile, &fetch_bound);
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

static void predicts_nothing_of_a_run_it_does_not_understand(void **state)
{
	struct run run = fetch_bound;
	struct profile profile;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct error err = {0};
	struct model *model;

	(void)state;
	run.real = 400; /* 500 by its stages */
	make(&profile, &run);
	model = model_new(&profile, &err);
	assert_non_null(model);
	change.cache_share = .5;
	assert_int_equal(
		model_predict(model, &change, profile_add_prediction(&profile), &err),
		-ENODATA);
	assert_non_null(strstr(err.message, "not identifiable"));
	profile_drop_predictions(&profile);
	assert_int_equal(advise(&profile, model, "out", &err), 0);
	assert_int_equal(profile.prediction_count, 0);
	assert_non_null(profile.model.why);
	model_free(model);
	profile_free(&profile);
}

/* ---- advice ---- */

static void get_advice(struct profile *profile, const struct run *run)
{
	struct error err = {0};
	struct model *model;

	make(profile, run);
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
	get_advice(&profile, &fetch_bound);
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
	get_advice(&profile, &prep_bound);
	assert_int_equal(profile.predictions[0].rank, 1);
	assert_true(profile.predictions[0].change.cores > 2);
	profile_free(&profile);
}

static void advises_to_share_what_jobs_prepare_each_for_itself(void **state)
{
	struct run run = prep_bound;
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
	run = compute_bound;
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
	get_advice(&profile, &compute_bound);
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
	get_advice(&profile, &fetch_bound);
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

	make(&profile, &fetch_bound);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(predicts_a_cache),
		cmocka_unit_test(knows_the_hits_of_the_kernel),
		cmocka_unit_test(predicts_storage),
		cmocka_unit_test(predicts_fewer_cores),
		cmocka_unit_test(predicts_workers_of_a_delayed_prep),
		cmocka_unit_test(predicts_an_accelerator),
		cmocka_unit_test(predicts_several_jobs),
		cmocka_unit_test(predicts_jobs_of_different_speeds),
		cmocka_unit_test(tells_what_jobs_take),
		cmocka_unit_test(jobs_share_what_the_machine_costs),
		cmocka_unit_test(jobs_meet_at_a_real_storage),
		cmocka_unit_test(knows_jobs_that_ran_side_by_side),
		cmocka_unit_test(refuses_jobs_without_sense),
		cmocka_unit_test(gives_only_bounds_beyond_the_machine),
		cmocka_unit_test(knows_what_it_cannot_know),
		cmocka_unit_test(predicts_nothing_of_a_run_it_does_not_understand),
		cmocka_unit_test(advises_the_smallest_cache_that_is_enough),
		cmocka_unit_test(advises_cores_where_prep_stalls),
		cmocka_unit_test(advises_to_share_what_jobs_prepare_each_for_itself),
		cmocka_unit_test(advises_nothing_where_nothing_stalls),
		cmocka_unit_test(says_when_an_accelerator_would_be_wasted),
		cmocka_unit_test(survives_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
