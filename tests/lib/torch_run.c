#include "tests/lib/torch_run.h"
#include "tests/lib/known_run.h"
#include "tests/lib/test.h"

#include <math.h>

enum { WINDOWS = 8 };

const struct torch_run torch_run_sleeper = {
	.workers = 2, .cpu_s = .05 * MS, .sleep_s = 1.95 * MS, .latency_s = 8 * MS};

/* The closed form: with so many workers. */
static double rate_of(const struct torch_run *run, unsigned workers, double read_s)
{
	double made_s = run->cpu_s + run->sleep_s + read_s;
	double takes_over_s = run->reads_ahead ? 0 : run->handover_s / TORCH_RUN_BATCH;
	double step_s = 1. / TORCH_RUN_RATE + takes_over_s;

	if ((workers == 0 && !run->reads_ahead) || run->alone)
		return 1 / (step_s + made_s);
	return fmin(1 / step_s, fmax(1, workers) / made_s);
}

static double read_s(const struct torch_run *run)
{
	return run->latency_s + run->native_s;
}

static void add_windows(struct profile *profile, const struct torch_run *run)
{
	profile->rates[TRACE_SYNTHETIC] = known_about(TORCH_RUN_RATE);
	profile->rates[TRACE_CACHED] = known_about(rate_of(run, run->workers, 0));
	profile->rates[TRACE_REAL] = known_about(
		run->real > 0 ? run->real : rate_of(run, run->workers, read_s(run)));
	for (unsigned k = 1; k <= profile->cores && !run->unmeasured; k++) {
		struct profile_point *point = profile_add_prep_point(profile);
		double rate = k / (run->cpu_s + run->sleep_s);

		assert_non_null(point);
		point->x = k;
		point->per_s = known_about(rate);
		known_run_add_window(profile, "prep", rate, run->cpu_s, run->cpu_s);
		profile->windows[profile->window_count - 1].workers = k;
	}
	for (int i = 0; i < WINDOWS; i++) {
		known_run_add_window(profile, "synthetic", TORCH_RUN_RATE,
				     run->alone ? 1. / TORCH_RUN_RATE : 5e-6, 0);
		known_run_add_window(profile, "cached",
				     profile->rates[TRACE_CACHED].value, run->cpu_s,
				     run->cpu_s);
	}
}

/* In synthetic windows; another one, which does less, does not matter. */
static void add_device(struct profile *profile, double kernels)
{
	for (int i = 0; i < 2; i++) {
		struct profile_device *device = profile_add_device(profile);

		assert_non_null(device);
		device->kind.id = TRACE_SYNTHETIC;
		device->length_s = 10;
		device->busy_s = 10 * kernels / (1 + i);
	}
}

/* Of the workers' time in cached windows, what is no CPU time they slept; but on one
 * core they are always at it. */
static void add_sleep(struct profile *profile, const struct torch_run *run)
{
	for (size_t i = 0; i < profile->window_count; i++) {
		struct profile_window *window = &profile->windows[i];

		if (window->kind.id == TRACE_CACHED)
			window->prep_busy_s =
				run->alone
					? run->workers
					: window->per_s * (run->cpu_s + run->sleep_s);
	}
}

void torch_run_make(struct profile *profile, const struct torch_run *run)
{
	profile_init(profile);
	profile->loader_kind.id = LOADER_TORCH;
	profile->handover_s = run->handover_s;
	profile->reads_ahead = run->reads_ahead;
	profile->dataset_samples = 2000;
	profile->dataset_bytes = 2000 * 100000;
	profile->batch = TORCH_RUN_BATCH;
	profile->workers = run->workers;
	profile->cores = run->alone ? 1 : 2;
	profile->prefetch = 2;
	profile->fetch_depth = 0;
	profile->precision = .01;
	profile->emulated_per_s = run->alone ? NAN : TORCH_RUN_RATE;
	profile->cache.id = CACHE_PAGE;
	profile->cache_emulated = run->native_s > 0;
	profile->hit_ratio = known_about(0);
	if (run->latency_s > 0)
		profile->storage_latency_s = run->latency_s;
	*profile_add_draw(profile) =
		(struct profile_draw){100000, run->native_s > 0 ? run->native_s : NAN,
				      run->cpu_s + run->sleep_s};
	add_windows(profile, run);
	if (run->kernels > 0)
		add_device(profile, run->kernels);
	add_sleep(profile, run);
}

void torch_run_expect(const struct torch_run *run, const struct profile_change *change,
		      double truth)
{
	struct profile_prediction *prediction;
	struct profile profile;

	torch_run_make(&profile, run);
	prediction = known_run_predict(&profile, change);
	if (!(fabs(prediction->per_s.value / truth - 1) <= .02))
		fail_msg("predicted %g, the truth is %g", prediction->per_s.value,
			 truth);
	assert_true(prediction->per_s.low < truth && truth < prediction->per_s.high);
	profile_free(&profile);
}

void torch_run_add_part(struct profile *profile, const char *name, double mean_s)
{
	struct profile_part *part = profile_add_part(profile);

	assert_non_null(part);
	assert_int_equal(profile_text(&part->name, "%s", name), 0);
	part->mean_s = mean_s;
}
