/*
 * window_cost.h - how fast the windows seen so far went: what lengths and staging are
 * planned by.
 */
#ifndef DSA_WINDOW_COST_H
#define DSA_WINDOW_COST_H

#include "profiler/session/window.h"

#include <stdint.h>

/* Steps of a window: thrown away after its switch; measured, at the least. */
enum { STEPS_SETTLE = 2, STEPS_LEAST = 8 };

/* Zero at first; 0 in a member: not seen yet. */
struct window_cost {
	double step_s[TRACE_KINDS]; /* of a step, in the last window of the kind */
	double compute_s;           /* of a step without its wait */
	double prep_s;              /* of a sample in one worker, s */
	double staged_per_s;        /* samples, the best seen */
	double switch_s;            /* a switch with its settling steps, mean */
	unsigned switches;
};

/* A window ended. */
void window_cost_learn(struct window_cost *pace, const struct window *window);

/* Expected time of a step in a window of this kind; 0 when nothing was seen. */
double window_cost_step_s(const struct window_cost *pace, enum trace_kind kind);

/* Expected time of a switch with its settling steps. */
double window_cost_switch_s(const struct window_cost *pace);

/*
 * Samples to stage for a window of this kind and length: what it will use and what is
 * in flight, but no more than the data set has, than fit memory_bytes, and than 2 s of
 * reading.
 */
uint32_t window_cost_stage(const struct window_cost *pace,
			   const struct trace_loader *loader, enum trace_kind kind,
			   double length_s, uint64_t memory_bytes);

/* Samples to have ready for a synthetic window of this length: none comes twice. 0:
 * there is no saying. */
uint32_t window_cost_ready(const struct window_cost *pace,
			   const struct trace_loader *loader, double length_s);

#endif
