/* epochs.c - asks for windows that end at epochs. */
#include "profiler/schedule/epochs.h"

#include <math.h>

#define SHORTEST_S 1. /* of a window */

double epochs_window_s(const struct trace_loader *loader, double step_s)
{
	double epoch_s = step_s * (double)loader->steps_per_epoch;

	return epoch_s > 0 ? epoch_s * ceil(SHORTEST_S / epoch_s) : 0;
}

void epochs_plan(struct epochs *epochs, const struct trace_loader *loader,
		 double step_s, bool steady, double left_s)
{
	double epoch_s = step_s * (double)loader->steps_per_epoch;

	epochs->warm = steady ? 0 : 1;
	/* The rest of the present epoch comes first. */
	epochs->on = epoch_s > 0 &&
		     epoch_s + (epochs->warm + EPOCHS_ENOUGH) *
					     epochs_window_s(loader, step_s) <=
			     left_s;
}

bool epochs_ask(struct epochs *epochs, const struct trace_loader *loader, double step_s,
		double left_s, struct trace_window *ask)
{
	bool warm = epochs->warm > 0;

	if (epochs_window_s(loader, step_s) > left_s)
		return false;
	*ask = (struct trace_window){
		.kind = TRACE_REAL,
		.flags = TRACE_EPOCH | (warm ? TRACE_WARMUP : 0u),
		.block = warm ? UINT32_MAX : epochs->asked++,
		.length_ns = warm ? 0 : (uint64_t)(SHORTEST_S * 1e9),
		.min_steps = 1,
	};
	epochs->warm -= warm;
	return true;
}
