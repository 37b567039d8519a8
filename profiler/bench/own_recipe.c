/* own_recipe.c - a short `dsa bench prep` of the program's own files, in slices. */
#include "profiler/bench/own_recipe.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/math/student.h"
#include "loader/loader.h"
#include "loader/options.h"
#include "profiler/bench/bench_stage.h"
#include "profiler/bench/other_inputs.h"
#include "profiler/host/host_load.h"
#include "profiler/profile.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST = 3, /* times what lies ready: batches that show its pace */
	SLICES = 12,
	LEAST = 4, /* slices that show their scatter */
	BATCH_MOST = 64,
	BATCH_BYTES = 1 << 25, /* the ring has several of them */
};

#define SLICE_S .12
#define MOST_S  4. /* the first batches; all slices, where these were no measure */

/* Moments between slices of so many batches. */
struct own_slices {
	uint64_t batches, seen;
	unsigned count;
	double wall_s[SLICES + 1], cpu_s[SLICES + 1];
};

static void own_recipe_note(void *context, double share)
{
	struct own_slices *slices = context;
	uint64_t at = slices->seen / slices->batches;

	(void)share;
	if (slices->seen++ % slices->batches == 0 && at <= SLICES) {
		slices->wall_s[at] = (double)clock_now() * 1e-9;
		slices->cpu_s[at] = (double)clock_process_cpu() * 1e-9;
		slices->count = (unsigned)at;
	}
}

/* The mean of what slices have for each of so many samples, or samples for each of it. */
static struct interval own_recipe_mean(const double at[SLICES + 1], unsigned count,
				       double samples, bool inverse)
{
	double sum = 0, squares = 0, mean, half;

	for (size_t i = 0; i < count; i++) {
		double each = (at[i + 1] - at[i]) / samples;

		each = inverse ? 1 / each : each;
		sum += each;
		squares += each * each;
	}
	mean = sum / count;
	half = student_t(.95, count - 1) *
	       sqrt(fmax(0, squares / count - mean * mean) / (count - 1));
	return (struct interval){mean, fmax(0, mean - half), mean + half};
}

/* ---- the loader ---- */

static uint64_t own_recipe_sample_bytes(const struct profile_own_recipe *recipe)
{
	uint64_t type = strcmp(recipe->type, "uint8") == 0 ? 1 : sizeof(float);

	return 3 * (uint64_t)recipe->size * (uint64_t)recipe->size * type;
}

/* The run's, or a smaller one, so that few take neither long nor much memory. */
static unsigned own_recipe_batch(const struct profile *profile)
{
	uint64_t room = BATCH_BYTES / own_recipe_sample_bytes(&profile->own_recipe);
	uint64_t batch = profile->batch;

	if (batch > BATCH_MOST)
		batch = BATCH_MOST;
	if (batch > room)
		batch = room;
	return (unsigned)batch;
}

static struct dsa_config own_recipe_loader(const struct profile *profile)
{
	const struct profile_own_recipe *recipe = &profile->own_recipe;

	return (struct dsa_config){
		.dataset = recipe->folder,
		.batch = own_recipe_batch(profile),
		.workers = profile->cores < LIMIT_WORKERS ? (unsigned)profile->cores
							  : LIMIT_WORKERS,
		.evaluate = strcmp(recipe->kind, "evaluate") == 0,
		.size = (unsigned)recipe->size,
		.type = strcmp(recipe->type, "uint8") == 0 ? DSA_UINT8 : DSA_FLOAT32,
		.share = "",
	};
}

/* 0 or -errno. */
static int own_recipe_run(struct profile *profile)
{
	struct dsa_config loader = own_recipe_loader(profile);
	struct own_slices slices = {.batches = 1};
	struct options options;
	struct bench_prep_config bench = {
		.options = &options,
		.loader = &loader,
		.seconds = MOST_S,
		.interrupted = other_inputs_interrupted,
	};
	struct bench_prep prep;
	struct error err;
	double samples;
	int result = options_resolve(&options, &loader, NULL, &err);

	if (result < 0)
		return result;
	bench.batches = FIRST * (1 + (uint64_t)options.prefetch);
	result = bench_prep_run(&bench, &prep, &err);
	if (result < 0 || other_inputs_interrupted())
		return result;
	slices.batches =
		1 + (uint64_t)(SLICE_S * prep.work.samples_per_s / loader.batch);
	bench.batches = slices.batches * SLICES + 1;
	bench.progress = own_recipe_note;
	bench.context = &slices;
	result = bench_prep_run(&bench, &prep, &err);
	if (result < 0 || slices.count < LEAST)
		return result;
	samples = (double)(slices.batches * loader.batch);
	profile->own_recipe.cpu_s =
		own_recipe_mean(slices.cpu_s, slices.count, samples, false);
	profile->own_recipe.per_s =
		own_recipe_mean(slices.wall_s, slices.count, samples, true);
	return 0;
}

/* As a program that asks for libdsa's loader has it: nothing that dsa runs under says
 * otherwise. */
static void own_recipe_run_alone(struct profile *profile)
{
	const char *set = getenv("DSA_LOADER");
	char *kept = set != NULL ? strdup(set) : NULL;

	unsetenv("DSA_LOADER");
	(void)own_recipe_run(profile);
	if (kept != NULL)
		setenv("DSA_LOADER", kept, 1);
	free(kept);
}

static bool own_recipe_wanted(const struct profile *profile)
{
	const struct profile_own_recipe *recipe = &profile->own_recipe;

	return other_inputs_matter(profile) && recipe->kind != NULL &&
	       recipe->folder != NULL && recipe->lacks == NULL && recipe->size > 0 &&
	       recipe->size <= LIMIT_SIZE &&
	       own_recipe_sample_bytes(recipe) <= BATCH_BYTES && profile->batch > 0 &&
	       profile->batch <= LIMIT_BATCH && profile->cores > 0 &&
	       profile->cores <= LIMIT_CORES;
}

void own_recipe_measure(struct profile *profile)
{
	cpu_set_t before, cores;

	if (!own_recipe_wanted(profile) ||
	    sched_getaffinity(0, sizeof(before), &before) < 0)
		return;
	cores = host_load_cpus((unsigned)profile->cores);
	sched_setaffinity(0, sizeof(cores), &cores); /* threads inherit it */
	own_recipe_run_alone(profile);
	sched_setaffinity(0, sizeof(before), &before);
}
