#include "profiler/extras.h"

#include <math.h>

enum { STEPS_SETTLE = 2, STEPS_LEAST = 8 }; /* of windows with steps */

#define LONGEST_S  1.
#define SHORTEST_S .1
#define MEASURED   .7 /* of a window's time; the rest is its switch */

static void add(struct extras *extras, enum trace_kind kind, unsigned flags, unsigned x)
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

/* Bare and instrumented prep in mirrored order. */
static void add_pairs(struct extras *extras)
{
	add(extras, TRACE_PREP, 0, 0);
	add(extras, TRACE_PREP, TRACE_BARE, 0);
	add(extras, TRACE_PREP, TRACE_BARE, 0);
	add(extras, TRACE_PREP, 0, 0);
}

void extras_plan(struct extras *extras, const struct trace_loader *loader)
{
	add(extras, TRACE_LOADED, 0, 0);
	add(extras, TRACE_FETCH, 0, 0);
	add_pairs(extras);
	for (unsigned k = 1; k < loader->workers && k <= 64; k *= 2)
		add(extras, TRACE_PREP, 0, k);
	for (unsigned q = 1; q <= 32; q *= 2)
		if (q != loader->fetch_depth)
			add(extras, TRACE_FETCH, 0, q);
	add(extras, TRACE_LOADED, 0, 0);
	add_pairs(extras);
	add(extras, TRACE_LOADED, 0, 0);
	add_pairs(extras);
}

double extras_left_s(const struct extras *extras)
{
	if (extras->next == extras->count)
		return 0;
	return fmax(0, extras->budget_s - extras->spent_s);
}

static double length_s(const struct extras *extras)
{
	double each = MEASURED * extras->budget_s / fmax(1, extras->count);

	return fmin(LONGEST_S, fmax(SHORTEST_S, each));
}

/*
 * Windows whose CPU time is compared do the same work: as many passes over the staged
 * samples as take about a window's length, and one at the least. Found once, for all.
 */
static void plan_pairs(struct extras *extras, const struct pace *pace,
		       const struct trace_loader *loader, uint32_t stage)
{
	double samples = fmax(1, length_s(extras) * pace_prep_per_s(pace, loader));
	double batches = fmax(1, floor(stage / (double)loader->batch));

	batches = fmin(batches, ceil(samples / loader->batch));
	extras->pair_batches = (uint32_t)batches;
	extras->pair_passes =
		(uint32_t)fmax(1, floor(samples / (batches * loader->batch)));
}

static void set_pair(struct extras *extras, const struct pace *pace,
		     const struct trace_loader *loader, struct trace_window *ask)
{
	if (extras->pair_batches == 0)
		plan_pairs(extras, pace, loader, ask->stage);
	ask->stage = extras->pair_batches * loader->batch;
	ask->min_steps = extras->pair_batches * extras->pair_passes;
	ask->length_ns = 0;
}

bool extras_ask(struct extras *extras, const struct pace *pace,
		const struct trace_loader *loader, double left_s,
		struct trace_window *ask)
{
	double length = length_s(extras);

	if (extras->next == extras->count || length > left_s ||
	    extras->spent_s + length > extras->budget_s)
		return false;
	*ask = extras->asks[extras->next++];
	ask->length_ns = (uint64_t)(length * 1e9);
	ask->limit_ns = (uint64_t)((left_s + LONGEST_S) * 1e9);
	if (ask->kind != TRACE_FETCH)
		ask->stage = pace_stage(pace, loader, ask->kind, length,
					extras->memory_bytes);
	if (ask->kind == TRACE_PREP && ask->workers == 0)
		set_pair(extras, pace, loader, ask);
	return true;
}
