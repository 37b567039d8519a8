/* known_run.c - the profile of a run as its closed form says, and predictions of it. */
#include "tests/lib/known_run.h"
#include "loader/base/error.h"
#include "models/predict/model.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>

enum { SAMPLES = 2000, BYTES = 100000, BATCH = 32 };

const struct known_run known_fetch_bound = {.compute_per_s = 1500,
					    .prep_s = 1e-3,
					    .cores = 2,
					    .workers = 2,
					    .bandwidth = 50e6};
const struct known_run known_prep_bound = {.compute_per_s = 4000,
					   .prep_s = 1e-3,
					   .cores = 2,
					   .workers = 2,
					   .bandwidth = 900e6};
const struct known_run known_compute_bound = {.compute_per_s = 500,
					      .prep_s = 1e-3,
					      .cores = 2,
					      .workers = 2,
					      .bandwidth = 900e6};

struct interval known_about(double value)
{
	return (struct interval){value, value * .99, value * 1.01};
}

void known_run_add_window(struct profile *profile, const char *kind, double per_s,
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

static double prep_rate(const struct known_run *run, unsigned k)
{
	return (k < run->cores ? k : run->cores) / run->prep_s;
}

/* What the others leave of it. */
static double own_prep_rate(const struct known_run *run)
{
	return prep_rate(run, run->workers) / (run->jobs > 1 ? run->jobs : 1);
}

static double fetch_rate(const struct known_run *run)
{
	return run->bandwidth / BYTES / (1 - run->share);
}

/* Of batches that are ready in memory. */
static double copied_rate(const struct known_run *run)
{
	return run->copy_per_s > 0 ? fmin(run->compute_per_s, run->copy_per_s)
				   : run->compute_per_s;
}

static double closed_form(const struct known_run *run)
{
	return fmin(copied_rate(run), fmin(own_prep_rate(run), fetch_rate(run)));
}

static void add_curves(struct profile *profile, const struct known_run *run)
{
	for (unsigned k = 1; k <= run->cores; k++) {
		struct profile_point *point = profile_add_prep_point(profile);

		point->x = k;
		point->per_s = known_about(prep_rate(run, k));
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

static void set_device(struct profile *profile, const struct known_run *run)
{
	double copied = copied_rate(run), real = profile->rates[TRACE_REAL].value;

	assert_int_equal(profile_text(&profile->device, "cuda:0"), 0);
	profile->device_copy_s = known_about(1 / run->copy_per_s);
	profile->rates[TRACE_COPIED] = known_about(copied);
	profile->stalls[STAGE_COPY].value = real / copied - real / run->compute_per_s;
	profile->stalls[STAGE_PREP].value -= profile->stalls[STAGE_COPY].value;
}

static void set_rates(struct profile *profile, const struct known_run *run)
{
	double cached = fmin(copied_rate(run), own_prep_rate(run));
	double real = run->real > 0 ? run->real : closed_form(run);

	profile->rates[TRACE_SYNTHETIC] = known_about(run->compute_per_s);
	profile->rates[TRACE_CACHED] = known_about(cached);
	profile->rates[TRACE_REAL] = known_about(real);
	profile->stalls[STAGE_COMPUTE] =
		(struct interval){real / run->compute_per_s, 0, 1};
	profile->stalls[STAGE_PREP].value = real / cached - real / run->compute_per_s;
	profile->stalls[STAGE_PREP].low = profile->stalls[STAGE_PREP].value - .005;
	profile->stalls[STAGE_FETCH].value = 1 - real / cached;
	profile->stalls[STAGE_FETCH].low = profile->stalls[STAGE_FETCH].value - .005;
	for (int i = 0; i < 8; i++) {
		known_run_add_window(profile, "synthetic", run->compute_per_s, 5e-6, 0);
		known_run_add_window(profile, "cached", cached, run->prep_s,
				     run->prep_s);
	}
}

static void set_jobs(struct profile *profile, const struct known_run *run)
{
	profile->together = known_about(run->jobs * profile->rates[TRACE_REAL].value);
	for (uint64_t i = 0; i < run->jobs; i++) {
		struct profile_job *job = profile_add_job(profile);

		assert_non_null(job);
		job->job = i;
		job->rates[TRACE_REAL] = profile->rates[TRACE_REAL];
	}
}

static void set_kernel(struct profile *profile, const struct known_run *run)
{
	profile->cache.id = CACHE_PAGE;
	profile->storage_bandwidth = NAN;
	profile->cache_emulated = true;
	profile->hit_ratio = known_about(run->kernel);
}

void known_run_make(struct profile *profile, const struct known_run *run)
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
	if (run->copy_per_s > 0)
		set_device(profile, run);
	if (run->kernel > 0)
		set_kernel(profile, run);
	if (run->jobs > 0)
		set_jobs(profile, run);
}

void known_run_add_tenth(struct profile *profile, unsigned resize)
{
	struct profile_recipe *recipe = profile_add_recipe(profile);

	assert_non_null(recipe);
	recipe->change.resize = resize;
	recipe->prep_ratio = (struct interval){.1, .1, .1};
	recipe->bytes_ratio = .1;
}

struct profile_prediction *known_run_predict(struct profile *profile,
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

static double known_run_sum(const struct interval stalls[STAGES])
{
	double sum = 0;

	for (int i = 0; i < STAGES; i++)
		if (!stage_table[i].optional || isfinite(stalls[i].value))
			sum += stalls[i].value;
	return sum;
}

void known_run_expect(const struct known_run *run, const struct profile_change *change,
		      double truth)
{
	struct profile profile;
	struct profile_prediction *prediction;

	known_run_make(&profile, run);
	prediction = known_run_predict(&profile, change);
	if (fabs(prediction->per_s.value / truth - 1) > .03)
		fail_msg("predicted %g, the truth is %g", prediction->per_s.value,
			 truth);
	assert_true(prediction->per_s.low < truth && truth < prediction->per_s.high);
	assert_float_equal(known_run_sum(prediction->stalls), 1, 1e-9);
	profile_free(&profile);
}
