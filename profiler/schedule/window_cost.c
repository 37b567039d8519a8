/* window_cost.c - estimates step times and the cost of windows. */
#include "profiler/schedule/window_cost.h"

#include <math.h>

#define SPARE     1.3 /* windows go faster at times than the last one did */
#define STAGING_S 2.  /* the longest that staging may take */
#define SWITCH_S  .1  /* of a switch, before one was seen */

enum {
	STEPS = STEPS_LEAST + STEPS_SETTLE,
	POOL = 512,     /* samples that drawn hits come from */
	REPEATED = 1024 /* samples that are prepared over and over */
};

static void learn_switch(struct window_cost *pace, const struct trace_window *raw)
{
	double took = (double)(raw->begin.time_ns - raw->switch_ns) * 1e-9;

	pace->switches++;
	pace->switch_s += (took - pace->switch_s) / pace->switches;
	if (raw->staged > 0 && took > 0)
		pace->staged_per_s = fmax(pace->staged_per_s, raw->staged / took);
}

static void learn_prep(struct window_cost *pace, const struct window *window)
{
	uint64_t prepared = window_counted(window->raw, TRACE_prepared_samples);
	uint64_t took = window_counted(window->raw, TRACE_prep_ns);

	if ((window->kind == TRACE_REAL || window->kind == TRACE_CACHED) &&
	    prepared > 0 && took > 0)
		pace->prep_s = (double)took * 1e-9 / (double)prepared;
}

void window_cost_learn(struct window_cost *pace, const struct window *window)
{
	if (!window->ended || window->kind == TRACE_FILL)
		return;
	if ((window->flags & (TRACE_WARMUP | TRACE_EPOCH)) == 0)
		learn_switch(pace, window->raw);
	learn_prep(pace, window);
	if (!window_delivers(window->kind) || window->steps < 1)
		return;
	pace->step_s[window->kind] = window->seconds / window->steps;
	pace->compute_s = (window->seconds - window->blocked_s) / window->steps;
}

double window_cost_step_s(const struct window_cost *pace, enum trace_kind kind)
{
	if (pace->step_s[kind] > 0)
		return pace->step_s[kind];
	/* Neither waits for anything that real windows do not wait for. */
	return kind == TRACE_SYNTHETIC ? pace->compute_s : pace->step_s[TRACE_REAL];
}

double window_cost_switch_s(const struct window_cost *pace)
{
	if (pace->switches > 0)
		return pace->switch_s;
	return SWITCH_S + STEPS_SETTLE * pace->step_s[TRACE_REAL];
}

/* Samples a cached window uses in length_s, at the pace it may have. */
static double cached_use(const struct window_cost *pace,
			 const struct trace_loader *loader, double length_s)
{
	double step = pace->step_s[TRACE_CACHED], steps = STEPS;

	if (step > 0) /* by chance the real ones may have gone faster */
		step = fmin(step, pace->step_s[TRACE_REAL]);
	if (step <= 0) /* before there was one: the slower of prep and compute */
		step = fmax(pace->compute_s,
			    pace->prep_s * loader->batch / fmax(1, loader->workers));
	if (step > 0)
		steps = fmax(STEPS, length_s / step + 2);
	return (SPARE * steps + loader->slots) * loader->batch;
}

/* Samples that there are, and that memory has room for. */
static double most_staged(const struct trace_loader *loader, uint64_t memory_bytes)
{
	double samples = (double)loader->dataset_samples;

	if (loader->dataset_bytes == 0)
		return samples;
	return fmin(samples,
		    (double)memory_bytes / (double)loader->dataset_bytes * samples);
}

uint32_t window_cost_stage(const struct window_cost *pace,
			   const struct trace_loader *loader, enum trace_kind kind,
			   double length_s, uint64_t memory_bytes)
{
	double batch = loader->batch, samples;

	if (kind == TRACE_CACHED)
		samples = cached_use(pace, loader, length_s);
	else
		samples = fmax(kind == TRACE_REAL ? POOL : REPEATED, 4 * batch);
	if (pace->staged_per_s > 0)
		samples =
			fmin(samples, fmax(STAGING_S * pace->staged_per_s, 4 * batch));
	samples =
		fmin(samples, fmin(most_staged(loader, memory_bytes), UINT32_MAX / 2));
	return samples < 1 ? 1 : (uint32_t)samples;
}

uint32_t window_cost_ready(const struct window_cost *pace,
			   const struct trace_loader *loader, double length_s)
{
	double step = window_cost_step_s(pace, TRACE_SYNTHETIC);

	if (!(step > 0))
		return 0;
	return (uint32_t)fmin(SPARE * fmax(STEPS, length_s / step + 2) * loader->batch,
			      UINT32_MAX / 2);
}
