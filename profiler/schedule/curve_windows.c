/* curve_windows.c - asks for the windows beside the blocks, once each. */
#include "profiler/schedule/curve_windows.h"

#include <math.h>

enum { STEPS_SETTLE = 2, STEPS_LEAST = 8 }; /* of windows with steps */

#define LONGEST_S  1.
#define SHORTEST_S .1
#define MEASURED   .7 /* of a window's time; the rest is its switch */

static void curve_windows_add(struct curve_windows *extras, enum trace_kind kind,
			      unsigned flags, unsigned x)
{
	struct trace_window *ask = &extras->asks[extras->count];

	if (extras->count == EXTRAS)
		return;
	extras->count++;
	*ask = (struct trace_window){
		.kind = kind,
		.flags = flags,
		.block = UINT32_MAX,
		.settle = STEPS_SETTLE,
		.min_steps = kind == TRACE_LOADED ? STEPS_LEAST : 0,
		.workers = kind == TRACE_PREP ? x : 0,
		.depth = kind == TRACE_FETCH ? x : 0,
	};
}

void curve_windows_plan(struct curve_windows *extras, const struct trace_loader *loader)
{
	bool alone = !loader->shared; /* it works in the job's own process */

	if (alone)
		curve_windows_add(extras, TRACE_LOADED, 0, 0);
	curve_windows_add(extras, TRACE_FETCH, 0, 0);
	curve_windows_add(extras, TRACE_PREP, 0, 0);
	for (int i = 0; i < 3; i++)
		curve_windows_add(extras, TRACE_PREP, TRACE_PAIRED, 0);
	if (loader->storage_bandwidth > 0 || loader->storage_latency > 0) {
		curve_windows_add(extras, TRACE_FETCH, TRACE_UNTHROTTLED, 0);
		if (loader->fetch_depth > 1)
			curve_windows_add(extras, TRACE_FETCH, TRACE_UNTHROTTLED, 1);
	}
	for (unsigned k = 1; k < loader->workers && k <= 64; k *= 2)
		curve_windows_add(extras, TRACE_PREP, 0, k);
	for (unsigned q = 1; q <= 32; q *= 2)
		if (q != loader->fetch_depth)
			curve_windows_add(extras, TRACE_FETCH, 0, q);
	for (int i = 0; i < 2; i++) {
		if (alone)
			curve_windows_add(extras, TRACE_LOADED, 0, 0);
		curve_windows_add(extras, TRACE_PREP, 0, 0);
		curve_windows_add(extras, TRACE_PREP, TRACE_PAIRED, 0);
		curve_windows_add(extras, TRACE_PREP, TRACE_PAIRED, 0);
	}
}

double curve_windows_left_s(const struct curve_windows *extras)
{
	if (extras->next == extras->count)
		return 0;
	return fmax(0, extras->budget_s - extras->spent_s);
}

bool curve_windows_ask(struct curve_windows *extras, const struct window_cost *pace,
		       const struct trace_loader *loader, double left_s,
		       struct trace_window *ask)
{
	double each = MEASURED * extras->budget_s / fmax(1, extras->count);
	double length = fmin(LONGEST_S, fmax(SHORTEST_S, each));

	if (extras->next == extras->count || length > left_s ||
	    extras->spent_s + length > extras->budget_s)
		return false;
	*ask = extras->asks[extras->next++];
	ask->length_ns = (uint64_t)(length * 1e9);
	ask->limit_ns = (uint64_t)((left_s + LONGEST_S) * 1e9);
	if (ask->kind != TRACE_FETCH)
		ask->stage = window_cost_stage(pace, loader, ask->kind, length,
					       extras->memory_bytes);
	return true;
}
