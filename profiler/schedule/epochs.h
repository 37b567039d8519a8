/*
 * epochs.h - real windows that last whole epochs.
 *
 *	... warm-up | to the edge | epoch, where a cache is to fill | epoch | epoch ...
 *
 * Each sample comes once in an epoch, so that windows of whole ones always read the same
 * bytes, and a cache of any policy has its hits as it really has them: nothing is drawn.
 * With one reader and a fresh order in each epoch, lru and fifo have their steady state
 * from the second epoch on; the first two never count.
 */
#ifndef DSA_EPOCHS_H
#define DSA_EPOCHS_H

#include "loader/base/trace.h"

#include <stdbool.h>

enum { EPOCHS_ENOUGH = 4 }; /* windows before the stop rule may say stop */

/* Zero at first. */
struct epochs {
	bool on;        /* windows are whole epochs */
	unsigned warm;  /* still to be asked for, which do not count */
	unsigned asked; /* of those that do */
};

/*
 * Decides, after the warm-up, whether they fit into left_s: a step takes step_s.
 * `steady`: the cache is as it will stay.
 */
void epochs_plan(struct epochs *epochs, const struct trace_loader *loader,
		 double step_s, bool steady, double left_s);

/* The next one; false: it does not fit. */
bool epochs_ask(struct epochs *epochs, const struct trace_loader *loader, double step_s,
		double left_s, struct trace_window *ask);

/* What a window is expected to take: of the shortest epochs several. */
double epochs_window_s(const struct trace_loader *loader, double step_s);

#endif
