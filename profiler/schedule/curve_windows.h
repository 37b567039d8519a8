/*
 * curve_windows.h - the windows beside the blocks: G under interference, the curves
 * P(k) and S(q), what is under an emulated storage, and paired windows that show what
 * the instrumentation costs.
 *
 * They share a part of the budget. What a verdict needs most comes first, for the time
 * may run out.
 */
#ifndef DSA_CURVE_WINDOWS_H
#define DSA_CURVE_WINDOWS_H

#include "profiler/schedule/window_cost.h"

#include <stdbool.h>

enum { EXTRAS = 40 };

struct curve_windows {
	double budget_s;       /* for all of them */
	double spent_s;        /* on those that ended */
	uint64_t memory_bytes; /* that staged samples may take */
	struct trace_window asks[EXTRAS];
	unsigned count, next;
};

/* Plans them for this loader. budget_s and memory_bytes are set. */
void curve_windows_plan(struct curve_windows *extras,
			const struct trace_loader *loader);

/* The next one, when there is one and time for it. */
bool curve_windows_ask(struct curve_windows *extras, const struct window_cost *pace,
		       const struct trace_loader *loader, double left_s,
		       struct trace_window *ask);

/* Time that is still theirs. */
double curve_windows_left_s(const struct curve_windows *extras);

#endif
