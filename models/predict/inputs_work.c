/* inputs_work.c - sums windows up to what the step, prep and copies take. */
#include "loader/base/error.h"
#include "models/predict/inputs_state.h"
#include "models/predict/too_short.h"

#include <math.h>

enum { MOST_THREADS = 256 }; /* that compute on a batch */

/* A sum of windows: samples, and what they took. */
struct sum {
	double samples, wall_s, cpu_s;
	double mean, spread; /* of the windows' values: CPU per sample */
	unsigned windows;
};

#define HANDOVER_HALF 1.  /* it depends on whom the scheduler prefers */
#define DRIFT         .5  /* of the windows' scatter: another run finds another mean */
#define ALMOST_CORES  .15 /* CPU time of another thread that is worth one */
#define COPIED        .1 /* of a step: where copies are longer it waits for them, too */
#define SPINS         .5 /* of a step are kernels, and of their time a thread runs */
#define ENOUGH        4  /* cached windows: prep beside the step is known from them */

/* The windows that show the step alone: those in which the program paused, or others. */
static struct sum inputs_synthetic_of(const struct profile *profile, bool paused)
{
	struct sum sum = {0};

	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (window->kind.id != TRACE_SYNTHETIC || !window->used ||
		    isnan(window->cpu_s) || (window->outside_s > 0) != paused)
			continue;
		sum.samples += (double)window->samples;
		sum.wall_s += window->length_s;
		sum.cpu_s += window->cpu_s;
	}
	return sum;
}

/* CPU time is of pauses, too: without them as long as there are such windows. */
static struct sum inputs_synthetic(const struct profile *profile)
{
	struct sum sum = inputs_synthetic_of(profile, false);

	return sum.samples > 0 ? sum : inputs_synthetic_of(profile, true);
}

bool inputs_from_memory(const struct profile *profile)
{
	return profile->split.id == SPLIT_MEMORY || profile->split.id == SPLIT_STORAGE;
}

bool inputs_is_stream(const struct profile *profile)
{
	return profile->split.id == SPLIT_REPLAY;
}

enum trace_kind inputs_staged(const struct profile *profile)
{
	bool none = isnan(profile->rates[TRACE_CACHED].value);
	bool told = inputs_from_memory(profile) || inputs_is_stream(profile);

	return none && told ? TRACE_REAL : TRACE_CACHED;
}

/* By as many workers as the run has. */
static bool inputs_is_prep(const struct profile *profile,
			   const struct profile_window *window, enum trace_kind kind)
{
	return window->kind.id == (int)kind && window->used &&
	       (window->workers == 0 || window->workers == profile->workers) &&
	       window->prep_cpu_s > 0 && window->prepared != UNKNOWN &&
	       window->prepared > 0;
}

/* Prep's CPU time per sample over the windows of a kind, and its scatter. */
static struct sum prep_cpu(const struct profile *profile, enum trace_kind kind)
{
	struct sum sum = {0};
	double squares = 0;

	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];
		double each;

		if (!inputs_is_prep(profile, window, kind))
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

/* A step's time in windows of a kind, without what it was blocked, against 1/G. */
static double inputs_slowed(const struct profile *profile, enum trace_kind kind)
{
	double steps = 0, seconds = 0;

	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (window->kind.id != (int)kind || !window->used ||
		    isnan(window->blocked_s))
			continue;
		steps += (double)window->samples / (double)profile->batch;
		seconds += profile_measured_s(window) - window->blocked_s;
	}
	return steps > 0
		       ? seconds / steps - (double)profile->batch /
						   profile->rates[TRACE_SYNTHETIC].value
		       : NAN;
}

/*
 * Of the CPU time of a sample's step that in which kernels ran, where they are most of it and
 * a thread runs meanwhile: it waits for them on the CPU, or has its work done before they
 * are. 0: it sleeps, or they are few, or none were seen.
 */
static double inputs_spun(const struct profile *profile, double cpu_s)
{
	double part = profile_kernel_part(profile);
	double kernels = part / profile->rates[TRACE_SYNTHETIC].value;

	return part > SPINS && cpu_s > SPINS * kernels ? fmin(cpu_s, kernels) : 0;
}

int inputs_find_compute(const struct profile *profile, struct inputs *inputs,
			struct error *err)
{
	struct sum sum = inputs_synthetic(profile);
	double rate = profile->rates[TRACE_SYNTHETIC].value, cpu_s, spun_s;

	if (!(rate > 0) || sum.samples <= 0 || sum.wall_s <= 0)
		return too_short(profile, "the training step alone", err);
	cpu_s = sum.cpu_s / sum.samples;
	spun_s = inputs_spun(profile, cpu_s);
	inputs->spins = spun_s > 0;
	inputs->compute_threads = threads_of(sum.cpu_s / sum.wall_s);
	inputs->compute_s = 1 / rate;
	inputs->compute_cpu_s = fmin(cpu_s - spun_s, inputs->compute_threads / rate) *
				cores_speed(&inputs->cores, inputs->compute_threads);
	if (profile->emulated_per_s > 0)
		inputs->fixed_s = fmax(0, 1 / rate - 1 / profile->emulated_per_s);
	inputs->slowed_s = inputs->slowed_real_s = NAN;
	/* What a thread that reads ahead is blocked is no wait of the step's. */
	if (inputs->copy_s < COPIED * inputs->compute_s && !profile->reads_ahead) {
		inputs->slowed_s = inputs_slowed(profile, inputs_staged(profile));
		inputs->slowed_real_s = inputs_slowed(profile, TRACE_REAL);
	}
	inputs->half[INPUT_COMPUTE] = relative_half(profile->rates[TRACE_SYNTHETIC]);
	inputs->half[INPUT_HANDOVER] = HANDOVER_HALF;
	return 0;
}

/* What prep alone took of its workers, that is busy or not; nothing with an emulated delay,
 * which the simulation has of its own. */
static struct sum inputs_alone(const struct profile *profile)
{
	struct sum sum = {0};

	if (profile->prep_delay_s > 0)
		return sum;
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];
		unsigned k = window->workers > 0
				     ? window->workers
				     : (unsigned)fmax(1, (double)profile->workers);

		if (window->kind.id != TRACE_PREP || !window->used ||
		    !(window->prep_cpu_s > 0) || k > profile->cores ||
		    window->prepared == UNKNOWN || window->prepared == 0)
			continue;
		sum.wall_s += k * window->length_s;
		sum.cpu_s += window->prep_cpu_s;
		sum.samples += (double)window->prepared;
	}
	return sum;
}

/*
 * Locks, wake-ups and sleep. A worker that makes a batch by itself sleeps while its sample
 * waits, and others have its core; a pool has more samples to go on with, so that all of it is
 * work.
 */
static void split_waiting(const struct profile *profile, const struct sum *cached,
			  const struct sum *alone, struct inputs *inputs)
{
	const struct sum sum = inputs_alone(profile);

	if (!inputs->in_turn)
		inputs->prep_s *= sum.samples > 0 ? fmax(1, sum.wall_s / sum.cpu_s) : 1;
	else if (alone->samples > 0)
		inputs->wait_s = sum.samples > 0
					 ? fmax(0, sum.wall_s - sum.cpu_s) / sum.samples
					 : 0;
	else if (!(profile->prep_delay_s > 0))
		inputs->made_s = cached->wall_s / cached->samples;
}

void inputs_set_wait(struct inputs *inputs, double wait_s)
{
	inputs->wait_s = wait_s;
	inputs->wait_scale = wait_s * inputs->prep_scale / inputs->prep_s;
}

void inputs_find_copy(const struct profile *profile, struct inputs *inputs)
{
	if (!(profile->device_copy_s.value > 0))
		return;
	inputs->copy_s = profile->device_copy_s.value;
	inputs->half[INPUT_COPY] = relative_half(profile->device_copy_s);
}

/* Padding by timers that are late; and, of workers that make whole batches, what these
 * take beside their samples. Not where work takes longer than the padding. */
static double inputs_delay(const struct profile *profile, bool in_turn)
{
	double sum = 0, late = (1 + DELAY_LATE) * profile->prep_delay_s;
	size_t count = 0;

	if (!(profile->prep_delay_s > 0))
		return 0;
	for (size_t i = 0; i < profile->draw_count; i++)
		if (in_turn || profile->draws[i].prep_s < late) {
			sum += profile->draws[i].prep_s;
			count++;
		}
	return sum > count * profile->prep_delay_s && sum < (double)count * late
		       ? sum / (double)count
		       : profile->prep_delay_s;
}

int inputs_find_prep(const struct profile *profile, struct inputs *inputs,
		     struct error *err)
{
	const enum trace_kind staged = inputs_staged(profile);
	const struct sum cached = prep_cpu(profile, staged);
	const struct sum all_alone = prep_cpu(profile, TRACE_PREP);
	const struct sum alone = cached.windows < ENOUGH ? all_alone : (struct sum){0};
	double windows = cached.windows + alone.windows, spread, busy;
	unsigned at_once;

	if (windows == 0)
		return too_short(profile, "preparation", err);
	/* So many run at once in cached windows, and slow each other as P(k) says. */
	busy = cached.wall_s > 0
		       ? profile->rates[staged].value * cached.wall_s / cached.samples
		       : (double)profile->workers;
	at_once = (unsigned)fmax(1, fmin(round(busy), (double)profile->cores));
	inputs->prep_s =
		(cached.cpu_s * cores_speed(&inputs->cores, at_once) +
		 alone.cpu_s * cores_speed(&inputs->cores,
					   (unsigned)fmin((double)profile->workers,
							  (double)profile->cores))) /
		(cached.samples + alone.samples);
	inputs->work_s =
		(cached.cpu_s + alone.cpu_s) / (cached.samples + alone.samples);
	split_waiting(profile, &cached, &all_alone, inputs);
	spread = cached.windows > 1 ? cached.spread : alone.spread;
	inputs->half[INPUT_PREP] = fmax(
		LEAST_HALF,
		2 * spread / fmax(inputs->made_s, inputs->prep_s + inputs->wait_s) *
			sqrt(1 / windows + DRIFT * DRIFT));
	inputs->delay_s = inputs_delay(profile, inputs->in_turn);
	return 0;
}
