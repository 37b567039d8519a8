/* contention.c - what loaded windows say of the training step's slowing. */
#include "profiler/analysis/contention.h"
#include "profiler/analysis/curves.h"
#include "profiler/analysis/shares.h"
#include "profiler/analysis/statistics.h"

#include <math.h>

/* ---- loaded windows ---- */

static double contention_counted(const struct window *window,
				 enum trace_counter counter)
{
	return (double)window_counted(window->raw, counter);
}

/* Of the windows of a kind that count, together. */
static double contention_sum(const struct window *windows, size_t count,
			     enum trace_kind kind, enum trace_counter counter)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		if (windows[i].kind == kind && shares_uses(&windows[i]))
			sum += contention_counted(&windows[i], counter);
	return sum;
}

/* CPU time of a sample's prep in cached windows, s; NAN: unknown. */
static double contention_prep_cpu(const struct window *windows, size_t count)
{
	double cpu_ns = contention_sum(windows, count, TRACE_CACHED, TRACE_prep_cpu_ns);

	return cpu_ns > 0 ? cpu_ns * 1e-9 /
				    contention_sum(windows, count, TRACE_CACHED,
						   TRACE_prepared_samples)
			  : NAN;
}

/* Samples that are prepared for each that the step takes. PyTorch's steps wait for them. */
static double contention_prepared(const struct window *window)
{
	return window->trace->loader.kind == TRACE_TORCH
		       ? 1
		       : contention_counted(window, TRACE_prepared_samples) /
				 window->samples;
}

/* What a window's steps would have taken at the speed at which prep takes `prep_cpu_s` for a
 * sample. */
static double contention_seconds(const struct window *window, double cores,
				 double prep_cpu_s)
{
	const struct trace_window *raw = window->raw;
	double seconds = curves_loaded_seconds(window);
	double here_s = contention_counted(window, TRACE_prep_cpu_ns) * 1e-9 /
			contention_counted(window, TRACE_prepared_samples);
	double cpu_s = (double)(raw->end.cpu_ns - raw->begin.cpu_ns) * 1e-9 / cores;

	if (!(here_s > 0) || !isfinite(prep_cpu_s) || !(cores > 0))
		return seconds;
	return seconds + (prep_cpu_s / here_s - 1) * fmin(cpu_s, seconds);
}

static struct interval contention_slowed(const struct window *windows, size_t count,
					 const struct profile *profile)
{
	double prep_cpu_s = contention_prep_cpu(windows, count);
	double cores = profile->cores == UNKNOWN ? NAN : (double)profile->cores;
	double slowed[TRACE_WINDOWS];
	size_t used = 0;

	for (size_t i = 0; i < count && used < TRACE_WINDOWS; i++) {
		const struct window *window = &windows[i];
		double prepared = contention_prepared(window);

		if (!curves_is_loaded(window) || !(prepared > 0))
			continue;
		slowed[used++] = (contention_seconds(window, cores, prep_cpu_s) /
					  window->samples -
				  1 / profile->rates[TRACE_SYNTHETIC].value) /
				 prepared;
	}
	return statistics_mean(slowed, used);
}

/* ---- what cached windows say ---- */

/* Seconds a sample that steps of such windows take outside of their loader; NAN: there is
 * none, or the program computes on a device, ahead of what it asks for. */
static double contention_own_time(const struct window *windows, size_t count,
				  enum trace_kind kind)
{
	double seconds = 0, samples = 0;

	for (size_t i = 0; i < count; i++) {
		const struct window *window = &windows[i];

		if (window->kind != kind || !shares_uses(window))
			continue;
		if (window->raw->made.devices != TRACE_NO_DEVICES)
			return NAN;
		seconds += window->seconds - window->blocked_s;
		samples += window->samples;
	}
	return samples > 0 ? seconds / samples : NAN;
}

/* CPU time of the threads that read, over that of those that prepare, in real windows. */
static double contention_fetch(const struct window *windows, size_t count)
{
	double prep_ns = contention_sum(windows, count, TRACE_REAL, TRACE_prep_cpu_ns);

	return prep_ns > 0 ? contention_sum(windows, count, TRACE_REAL,
					    TRACE_fetch_cpu_ns) /
				     prep_ns
			   : 0;
}

/* Prep stall = consumer blocked + consumer slowed: what cached steps take outside of their
 * loader beyond synthetic ones is the second, the first touch of a batch that another
 * process made included. Of a program that computes on a device, or whose loader is another
 * thread's than trains, loaded windows tell it. */
void contention_find(const struct window *windows, size_t count,
		     struct profile *profile, struct contention *contention)
{
	double more = contention_own_time(windows, count, TRACE_CACHED) -
		      contention_own_time(windows, count, TRACE_SYNTHETIC);

	contention->slowed_s = contention_slowed(windows, count, profile);
	if (profile_loader(profile) == LOADER_TORCH && profile->workers == 0 &&
	    !profile->reads_ahead)
		contention->slowed_s = (struct interval){0, 0, 0};
	contention->fetch = contention_fetch(windows, count);
	if (!(profile->workers > 0 && isfinite(more)) || profile->reads_ahead)
		more = contention->slowed_s.value;
	profile->prep_contention = more * profile->rates[TRACE_REAL].value;
}

/* ---- real windows ---- */

static double contention_part(double part)
{
	return fmin(1, fmax(0, part));
}

/*
 * The part of prep that is done while the step computes: in windows in which it is blocked
 * for so long by prep, and for `fetch` longer. The rest is done meanwhile, as fast as prep is
 * alone, or as fetch lets it. PyTorch's loaded windows have the step wait, too.
 */
static double contention_beside(const struct profile *profile, double prep,
				double fetch)
{
	const struct interval *rates = profile->rates;
	double alone = fmax(1, rates[TRACE_PREP].value / rates[TRACE_REAL].value);

	if (profile_loader(profile) == LOADER_TORCH)
		return 1;
	if (fetch < 0)
		return contention_part(1 - alone * fmax(0, prep + fetch));
	return contention_part(1 - fetch - alone * fmax(0, prep));
}

bool contention_add(const struct contention *contention, struct profile *profile,
		    double share[STAGES])
{
	double real = profile->rates[TRACE_REAL].value;
	double slowed = contention->slowed_s.value * real, cached, both;

	profile->proof.slowed_half = interval_half(contention->slowed_s) * real;
	if (isnan(slowed) || slowed == 0)
		return false;
	cached = contention_beside(profile, share[STAGE_PREP], 0);
	both = contention_beside(profile, share[STAGE_PREP], share[STAGE_FETCH]);
	share[STAGE_PREP] += slowed * cached;
	share[STAGE_FETCH] += slowed * (both * (1 + contention->fetch) - cached);
	return true;
}
