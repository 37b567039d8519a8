/* inputs.c - what a run tells of its storage and cache; and all of its stages. */
#include "models/predict/inputs.h"
#include "loader/base/error.h"
#include "loader/base/math/steady.h"
#include "models/predict/inputs_state.h"
#include "models/predict/too_short.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COUNT = 1 << 20 }; /* of workers, cores, reads, samples in a batch */

#define FETCH_HALF   .15 /* of a read's CPU time: it depends on what runs beside */
#define ASSUMED_HALF .1  /* of P(k) that was not measured */
#define SHARE_HALF   1.  /* of what was measured within one process */
#define ON_CPU       .5  /* of a step is CPU work: it computes there */

/* Where a draw lacks its time of fetch, what the storage's law says. */
static void complete_draw(const struct inputs *inputs, struct profile_draw *draw)
{
	const struct storage *storage = &inputs->storage;

	if (isfinite(draw->fetch_s))
		return;
	draw->fetch_s = 0;
	if (inputs->fetched && storage->native)
		draw->fetch_s =
			storage->latency_s + (double)draw->bytes / storage->bandwidth;
}

/* Of a draw that was padded only that is known: it took less. They share evenly what the
 * others leave of all CPU time. */
static void unpad_draws(const struct inputs *inputs, double delay_s)
{
	double late = (1 + DELAY_LATE) * delay_s;
	double left = inputs->work_s * (double)inputs->draw_count;
	size_t padded = 0;

	for (size_t i = 0; i < inputs->draw_count; i++) {
		bool over = inputs->draws[i].prep_s >= late;

		left -= over ? inputs->draws[i].prep_s : 0;
		padded += !over;
	}
	for (size_t i = 0; i < inputs->draw_count; i++)
		if (inputs->draws[i].prep_s < late)
			inputs->draws[i].prep_s =
				fmin(delay_s, fmax(0, left / (double)padded));
}

static int find_draws(const struct profile *profile, struct inputs *inputs,
		      struct error *err)
{
	size_t count = profile->draw_count > 0 ? profile->draw_count : 1;
	double sum = 0, mean = storage_sample_bytes(profile);

	inputs->draws = calloc(count, sizeof(*inputs->draws));
	if (inputs->draws == NULL)
		return error_sys(err, ENOMEM, "copying the samples' times");
	if (profile->draw_count > 0)
		memcpy(inputs->draws, profile->draws, count * sizeof(*inputs->draws));
	else /* of an old result: every sample is the mean one */
		inputs->draws[0] =
			(struct profile_draw){.bytes = isnan(mean) ? 0 : (uint64_t)mean,
					      .fetch_s = NAN,
					      .prep_s = inputs->prep_s};
	inputs->draw_count = count;
	if (profile->prep_delay_s > 0 && !inputs->in_turn)
		unpad_draws(inputs, profile->prep_delay_s);
	for (size_t i = 0; i < count; i++) {
		complete_draw(inputs, &inputs->draws[i]);
		sum += inputs->draws[i].prep_s;
	}
	inputs->prep_scale = inputs->prep_s * (double)count / sum;
	inputs_set_wait(inputs, inputs->wait_s);
	if (!(inputs->prep_scale > 0) || isinf(inputs->prep_scale))
		return error_set(err, ENODATA,
				 "no sample took any time to prepare: there is nothing "
				 "to predict from");
	return 0;
}

/* True when real windows read from storage. */
static bool inputs_reads(const struct profile *profile)
{
	return !inputs_from_memory(profile) && !(profile->hit_ratio.value >= 1);
}

/* CPU time of a read in real windows, beside the workers of the run; NAN: there was none, or
 * it waited for a storage that was slowed. */
static double fetch_cpu_beside(const struct profile *profile)
{
	double cpu_s = 0, reads = 0;

	if (profile->storage_bandwidth > 0 || profile->storage_latency_s > 0)
		return NAN;
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (window->kind.id != TRACE_REAL || !window->used ||
		    !(window->fetch_cpu_s > 0) || window->misses == UNKNOWN)
			continue;
		cpu_s += window->fetch_cpu_s;
		reads += (double)window->misses;
	}
	return reads > 0 ? cpu_s / reads : NAN;
}

/* CPU time of a read alone, at the run's depth; `slowed` where no other was measured. */
static double fetch_cpu_alone(const struct profile *profile, double slowed)
{
	for (size_t i = 0; i < profile->fetch_points; i++) {
		const struct profile_point *point = &profile->fetch_curve[i];

		if (point->unthrottled && point->x == profile->fetch_depth &&
		    point->cpu_s_per_sample > 0)
			return point->cpu_s_per_sample;
	}
	return slowed;
}

/*
 * CPU work of a read at the run's depth: as it was beside prep. With storage slowed a read
 * wakes its thread from idle, at full speed many share a wake-up; beside prep it is between
 * the two.
 */
static void find_fetch_cpu(const struct profile *profile, struct inputs *inputs)
{
	double slowed = inputs->storage.cpu_s, alone = fetch_cpu_alone(profile, slowed);
	double beside = fetch_cpu_beside(profile), apart;
	unsigned at_once =
		(unsigned)fmin((double)profile->workers, (double)profile->cores);

	apart = fabs(slowed - alone) / (slowed + alone);
	inputs->fetch_cpu_s = isnan(alone) ? 0 : (slowed + alone) / 2;
	if (!isnan(beside)) {
		beside *= cores_speed(&inputs->cores, at_once);
		apart = isnan(alone) ? NAN : fabs(beside - alone) / (beside + alone);
		inputs->fetch_cpu_s = beside;
	}
	inputs->half[INPUT_FETCH] = isnan(apart) ? FETCH_HALF : fmax(FETCH_HALF, apart);
}

/* Emulated latencies that real windows paid for a sample; 1: they did not count. */
static double latencies_of(const struct profile *profile)
{
	double reads = 0, samples = 0;

	if (inputs_from_memory(profile))
		return 0;
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (window->kind.id != TRACE_REAL || !window->used ||
		    window->throttle_reads == UNKNOWN || window->prepared == UNKNOWN)
			continue;
		reads += (double)window->throttle_reads;
		samples += (double)window->prepared;
	}
	return reads > 0 && samples > 0 ? reads / samples : 1;
}

#define ENGINE_THREAD(name, text, one_thread) one_thread,
static const bool one_thread[] = {FETCH_ENGINES(ENGINE_THREAD)};

static int find_fetch(const struct profile *profile, struct inputs *inputs,
		      struct error *err)
{
	struct error why = {0};

	inputs->fetched = storage_of(profile, &inputs->storage, &why) == 0;
	if (!inputs->fetched && inputs_reads(profile)) {
		if (err != NULL)
			*err = why;
		return -ENODATA;
	}
	if (!inputs->fetched)
		inputs->storage = (struct storage){.bandwidth = INFINITY, .cpu_s = NAN};
	inputs->half[INPUT_STORAGE] = fmax(LEAST_HALF, inputs->storage.uncertainty);
	if (inputs->in_turn) {
		inputs->latencies = latencies_of(profile);
		return 0; /* a worker's reads are in its prep */
	}
	find_fetch_cpu(profile, inputs);
	inputs->fetch_threads =
		profile->engine.id >= 0 && one_thread[profile->engine.id]
			? 1
			: (unsigned)profile->fetch_depth;
	return 0;
}

/* Known, and no nonsense from a file. */
static bool inputs_sound(uint64_t count)
{
	return count > 0 && count <= MOST_COUNT;
}

/* How much of the data set the kernel keeps: all of it, where real windows were read
 * through a warm cache; none of a stream, whose reads were timed as they came; else what
 * gives the hits that were drawn. */
static double page_share(const struct profile *profile)
{
	bool slowed = profile->storage_bandwidth > 0 || profile->storage_latency_s > 0;

	if (inputs_is_stream(profile))
		return 0;
	if (!profile->cache_emulated)
		return slowed ? 0 : 1;
	if (isnan(profile->hit_ratio.value))
		return 0;
	return steady_share(CACHE_PAGE, profile->hit_ratio.value,
			    profile->dataset_bytes != UNKNOWN ? profile->dataset_bytes
							      : 0);
}

static int inputs_find_cache(const struct profile *profile, struct inputs *inputs,
			     struct error *err)
{
	const struct profile_word *policy = &profile->cache;
	bool kernel = inputs->in_turn || policy->id == CACHE_PAGE;

	if (policy->id < 0 && !kernel)
		return error_set(err, ENODATA, "no model of the cache '%s'",
				 policy->other != NULL ? policy->other : "");
	inputs->policy = kernel ? CACHE_PAGE : (enum cache_id)policy->id;
	if (inputs_from_memory(profile))
		inputs->policy = CACHE_NONE;
	inputs->share =
		isfinite(profile->cache_share) ? fmin(1, profile->cache_share) : 0;
	inputs->on_disk = profile->disk_cache.hits != UNKNOWN;
	inputs->hit_s = profile->disk_cache.hit_s;
	if (inputs->policy == CACHE_PAGE)
		inputs->share = page_share(profile);
	if (isnan(inputs->share))
		return error_sys(err, ENOMEM, "replaying the kernel's cache");
	return 0;
}

/* False: it does not say how many of each there were. */
static bool inputs_counted(const struct profile *profile, bool in_turn)
{
	return profile->dataset_samples > 0 && inputs_sound(profile->batch) &&
	       inputs_sound(profile->cores) && profile->prefetch <= MOST_COUNT &&
	       (inputs_sound(profile->workers) || (in_turn && profile->workers == 0)) &&
	       (inputs_sound(profile->fetch_depth) || in_turn);
}

int inputs_of(const struct profile *profile, struct inputs *inputs, struct error *err)
{
	int result = 0;

	*inputs = (struct inputs){.fetch_threads = 1,
				  .in_turn = profile_loader(profile) == LOADER_TORCH,
				  .latencies = 1,
				  .made_s = NAN};
	/* A thread that reads ahead takes over while the other one trains. */
	if (inputs->in_turn && profile->handover_s > 0 && !profile->reads_ahead)
		inputs->handover_s = profile->handover_s;
	if (profile_is_observed(profile))
		return error_set(err, ENODATA,
				 "an observed run measures no stage alone: run it "
				 "without --observe");
	if (!inputs_counted(profile, inputs->in_turn))
		return error_set(err, ENODATA,
				 "the result does not say how the data was loaded");
	inputs_find_copy(profile, inputs);
	if (inputs->in_turn && profile->workers == 0 && profile->share_s > 0) {
		inputs->share_s = profile->share_s;
		inputs->unpickle_s = fmax(0, profile->unpickle_s);
		inputs->half[INPUT_SHARE] = SHARE_HALF;
	}
	result = cores_of(profile, &inputs->cores, err);
	inputs->half[INPUT_CORES] = inputs->cores.assumed ? ASSUMED_HALF : CORES_HALF;
	if (result == 0)
		result = inputs_find_compute(profile, inputs, err);
	if (result == 0)
		result = inputs_find_prep(profile, inputs, err);
	if (result == 0)
		result = find_fetch(profile, inputs, err);
	if (result == 0)
		result = inputs_find_cache(profile, inputs, err);
	if (result == 0)
		result = find_draws(profile, inputs, err);
	if (result < 0)
		inputs_free(inputs);
	return result;
}

bool inputs_on_cpu(const struct inputs *inputs)
{
	return inputs->compute_cpu_s >
	       ON_CPU * inputs->compute_s * inputs->compute_threads;
}

void inputs_free(struct inputs *inputs)
{
	free(inputs->draws);
	inputs->draws = NULL;
	inputs->draw_count = 0;
}
