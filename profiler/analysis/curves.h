/*
 * curves.h - what each stage sustains alone: P(k), S(q), G under interference, and what
 * the instrumentation costs.
 */
#ifndef DSA_CURVES_H
#define DSA_CURVES_H

#include "profiler/profile.h"
#include "profiler/session/window.h"

/*
 * Adds the points of P(k) and S(q), in order of k and q, of prep beside the training
 * step and of fetch without the emulated storage, from the certified windows. Windows
 * of one k or q give a mean with an interval when there are several. P(k) is of samples
 * of the data set's mean size: what larger ones take longer is known from those that were
 * recorded. 0 or -ENOMEM.
 */
int curves_add(const struct window *windows, size_t count, struct profile *profile);

/* The point at x, without the consumer, emulated storage and all; unknown when there is
 * none. */
struct interval curves_at(const struct profile_point *points, size_t count, unsigned x);

/* One in which synthetic batches are taken while workers prepare as much; and what its steps
 * took: those of a program's own loader wait for that, which is left out. */
bool curves_is_loaded(const struct window *window);
double curves_loaded_seconds(const struct window *window);

/* Samples/s of these windows. */
struct interval curves_loaded(const struct window *windows, size_t count);

/*
 * Share of prep's CPU time per sample that clocks, counters and histograms take, from
 * paired windows: each sample prepared with them and without, side by side.
 */
struct interval curves_overhead(const struct window *windows, size_t count);

#endif
