/* inputs.c - sums windows and curves up to what each stage takes. */
#include "models/predict/inputs.h"
#include "loader/base/error.h"
#include "loader/base/math/steady.h"
#include "models/predict/too_short.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_THREADS = 256,   /* that compute on a batch */
	MOST_COUNT = 1 << 20, /* of workers, cores, reads, samples in a batch */
};

/* A sum of windows: samples, and what they took. */
struct sum {
	double samples, wall_s, cpu_s;
	double mean, spread; /* of the windows' values: CPU per sample */
	unsigned windows;
};

#define LEAST_HALF    .005 /* of any input: clocks and settling */
#define FETCH_HALF    .15  /* of a read's CPU time: it depends on what runs beside */
#define HANDOVER_HALF 1.   /* it depends on whom the scheduler prefers */
#define CORES_HALF    .02  /* of P(k) measured once */
#define ASSUMED_HALF  .1   /* and never */
#define DRIFT         .5   /* of the windows' scatter: another run finds another mean */
#define ALMOST_CORES  .15  /* CPU time of another thread that is worth one */
#define ON_CPU        .5   /* of a step is CPU work: it computes there */

/* The windows that show the step alone. */
static struct sum inputs_synthetic(const struct profile *profile)
{
	struct sum sum = {0};

	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (window->kind.id != TRACE_SYNTHETIC || !window->used ||
		    isnan(window->cpu_s))
			continue;
		sum.samples += (double)window->samples;
		sum.wall_s += window->length_s;
		sum.cpu_s += window->cpu_s;
	}
	return sum;
}

/* Prep's CPU time per sample over the windows of a kind, and its scatter. */
static struct sum prep_cpu(const struct profile *profile, enum trace_kind kind)
{
	struct sum sum = {0};
	double squares = 0;

	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];
		double each;

		if (window->kind.id != (int)kind || !window->used ||
		    !(window->prep_cpu_s > 0) || window->prepared == UNKNOWN ||
		    window->prepared == 0)
			continue;
		each = window->prep_cpu_s / (double)window->prepared;
		sum.samples += (double)window->prepared;
		sum.cpu_s += window->prep_cpu_s;
		sum.wall_s += window->prep_busy_s;
		sum.mean += each;
		squares += each * each;
		sum.windows++;
	}
	if (sum.windows > 0)
		sum.mean /= sum.windows;
	if (sum.windows > 1)
		sum.spread = sqrt(fmax(0, squares / sum.windows - sum.mean * sum.mean) *
				  sum.windows / (sum.windows - 1.));
	return sum;
}

static double relative_half(struct interval interval)
{
	double half = interval_half(interval) / interval.value;

	return isfinite(half) ? fmax(half, LEAST_HALF) : CORES_HALF;
}

static unsigned threads_of(double busy)
{
	if (!(busy > 1 + ALMOST_CORES))
		return 1;
	return (unsigned)fmin(ceil(busy - ALMOST_CORES), MOST_THREADS);
}

/* A step's time in cached windows, without what it was blocked, against 1/G. */
static double inputs_slowed(const struct profile *profile)
{
	double steps = 0, seconds = 0;

	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (window->kind.id != TRACE_CACHED || !window->used ||
		    isnan(window->blocked_s))
			continue;
		steps += (double)window->samples / (double)profile->batch;
		seconds += window->length_s - window->blocked_s;
	}
	return steps > 0
		       ? seconds / steps - (double)profile->batch /
						   profile->rates[TRACE_SYNTHETIC].value
		       : NAN;
}

static int find_compute(const struct profile *profile, struct inputs *inputs,
			struct error *err)
{
	struct sum sum = inputs_synthetic(profile);
	double rate = profile->rates[TRACE_SYNTHETIC].value, cpu_s;

	if (!(rate > 0) || sum.samples <= 0 || sum.wall_s <= 0)
		return too_short(profile, "the training step alone", err);
	cpu_s = sum.cpu_s / sum.samples;
	inputs->compute_threads = threads_of(sum.cpu_s / sum.wall_s);
	inputs->compute_s = 1 / rate;
	inputs->compute_cpu_s = fmin(cpu_s, inputs->compute_threads / rate) *
				cores_speed(&inputs->cores, inputs->compute_threads);
	if (profile->emulated_per_s > 0)
		inputs->fixed_s = fmax(0, 1 / rate - 1 / profile->emulated_per_s);
	inputs->slowed_s = inputs_slowed(profile);
	inputs->half[INPUT_COMPUTE] = relative_half(profile->rates[TRACE_SYNTHETIC]);
	inputs->half[INPUT_HANDOVER] = HANDOVER_HALF;
	return 0;
}

/* Wall time over CPU time of prep alone: locks, wake-ups. With an emulated delay it is
 * that, which the simulation has of its own. */
static double inputs_waiting(const struct profile *profile)
{
	double wall = 0, cpu = 0;

	if (profile->prep_delay_s > 0)
		return 1;
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];
		unsigned k = window->workers > 0
				     ? window->workers
				     : (unsigned)fmax(1, (double)profile->workers);

		if (window->kind.id != TRACE_PREP || !window->used ||
		    !(window->prep_cpu_s > 0) || k > profile->cores)
			continue;
		wall += k * window->length_s;
		cpu += window->prep_cpu_s;
	}
	return cpu > 0 ? fmax(1, wall / cpu) : 1;
}

/*
 * A worker that makes a batch by itself sleeps while its sample waits, and others have
 * its core; a pool has more samples to go on with, so that all of it is work.
 */
static void split_waiting(const struct profile *profile, const struct sum *cached,
			  const struct sum *alone, struct inputs *inputs)
{
	double ratio = inputs_waiting(profile);

	if (!inputs->in_turn)
		inputs->prep_s *= ratio;
	else if (alone->samples > 0)
		inputs->wait_s = (ratio - 1) * alone->cpu_s / alone->samples;
	else if (!(profile->prep_delay_s > 0))
		inputs->made_s = cached->wall_s / cached->samples;
}

void inputs_set_wait(struct inputs *inputs, double wait_s)
{
	inputs->wait_s = wait_s;
	inputs->wait_scale = wait_s * inputs->prep_scale / inputs->prep_s;
}

static int find_prep(const struct profile *profile, struct inputs *inputs,
		     struct error *err)
{
	struct sum cached = prep_cpu(profile, TRACE_CACHED),
		   alone = prep_cpu(profile, TRACE_PREP);
	double windows = cached.windows + alone.windows, spread, busy;
	unsigned at_once;

	if (windows == 0)
		return too_short(profile, "preparation", err);
	/* So many run at once in cached windows, and slow each other as P(k) says. */
	busy = cached.wall_s > 0 ? profile->rates[TRACE_CACHED].value * cached.wall_s /
					   cached.samples
				 : (double)profile->workers;
	at_once = (unsigned)fmax(1, fmin(round(busy), (double)profile->cores));
	inputs->prep_s =
		(cached.cpu_s * cores_speed(&inputs->cores, at_once) +
		 alone.cpu_s * cores_speed(&inputs->cores,
					   (unsigned)fmin((double)profile->workers,
							  (double)profile->cores))) /
		(cached.samples + alone.samples);
	split_waiting(profile, &cached, &alone, inputs);
	spread = cached.windows > 1 ? cached.spread : alone.spread;
	inputs->half[INPUT_PREP] = fmax(
		LEAST_HALF,
		2 * spread / fmax(inputs->made_s, inputs->prep_s + inputs->wait_s) *
			sqrt(1 / windows + DRIFT * DRIFT));
	inputs->delay_s = profile->prep_delay_s > 0 ? profile->prep_delay_s : 0;
	return 0;
}

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
	return !(profile->hit_ratio.value >= 1);
}

/*
 * CPU work of a read at the run's depth. With storage slowed a read wakes its thread
 * from idle, at full speed many share a wake-up; beside prep it is between the two.
 */
static void find_fetch_cpu(const struct profile *profile, struct inputs *inputs)
{
	double slowed = inputs->storage.cpu_s, busy = slowed;

	for (size_t i = 0; i < profile->fetch_points; i++) {
		const struct profile_point *point = &profile->fetch_curve[i];

		if (point->unthrottled && point->x == profile->fetch_depth &&
		    point->cpu_s_per_sample > 0)
			busy = point->cpu_s_per_sample;
	}
	inputs->fetch_cpu_s = isnan(busy) ? 0 : (slowed + busy) / 2;
	inputs->half[INPUT_FETCH] =
		isnan(busy) ? FETCH_HALF
			    : fmax(FETCH_HALF, fabs(slowed - busy) / (slowed + busy));
}

/* Emulated latencies that real windows paid for a sample; 1: they did not count. */
static double latencies_of(const struct profile *profile)
{
	double reads = 0, samples = 0;

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
 * through a warm cache; else what gives the hits that were drawn. */
static double page_share(const struct profile *profile)
{
	bool slowed = profile->storage_bandwidth > 0 || profile->storage_latency_s > 0;

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
	inputs->share =
		isfinite(profile->cache_share) ? fmin(1, profile->cache_share) : 0;
	if (inputs->policy == CACHE_PAGE)
		inputs->share = page_share(profile);
	if (isnan(inputs->share))
		return error_sys(err, ENOMEM, "replaying the kernel's cache");
	return 0;
}

/* False: it does not say how many of each there were. */
static bool inputs_counted(const struct profile *profile, bool in_turn)
{
	return profile->dataset_samples != UNKNOWN && profile->dataset_samples > 0 &&
	       inputs_sound(profile->batch) && inputs_sound(profile->cores) &&
	       profile->prefetch <= MOST_COUNT &&
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
	if (inputs->in_turn && profile->handover_s > 0)
		inputs->handover_s = profile->handover_s;
	if (profile_is_observed(profile))
		return error_set(err, ENODATA,
				 "an observed run measures no stage alone: run it "
				 "without --observe");
	if (!inputs_counted(profile, inputs->in_turn))
		return error_set(err, ENODATA,
				 "the result does not say how the data was loaded");
	result = cores_of(profile, &inputs->cores, err);
	inputs->half[INPUT_CORES] = inputs->cores.assumed ? ASSUMED_HALF : CORES_HALF;
	if (result == 0)
		result = find_compute(profile, inputs, err);
	if (result == 0)
		result = find_prep(profile, inputs, err);
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
