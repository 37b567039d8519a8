/*
 * shares.h - the shares of a step's wall time, by difference over blocks.
 *
 *	compute = synthetic / real	prep = (cached - synthetic) / real
 *	fetch = (real - cached) / real	each the wall time of a sample in those windows
 *
 * and so on for each stage of profiler/stage.h whose windows there are. Where batches can't
 * be given again there are no cached ones: prep and fetch are unknown then, and together what
 * compute leaves (split.h).
 *
 * A block holds one certified window of each kind. Times and samples are summed over
 * blocks before they are divided. Windows whose cache hits were drawn stand for equal
 * parts of an epoch, so their times per sample are summed instead, each part weighs alike,
 * and the change of the hits over the epoch does not count as noise, unless a part is
 * missing.
 *
 * Where the bytes that windows prepared or read explain their times, these are taken as if
 * each had got what it delivers on average; and where the program's own CPU time does, which
 * tells how fast the machine was, as if that had been the same for all (control.h). Only
 * cached and real windows are made the same, where as much is prepared in both, for the
 * loader's work beside it slows the program too, and belongs to the stall; and where the
 * CPU times differ by no more than chance: a program may spin while it waits.
 *
 * Load that lasts shows in no spread of blocks, so that windows which others disturbed
 * and which count all the same widen the shares by what these may have slowed them. A
 * rate is what it was under that load.
 */
#ifndef DSA_SHARES_H
#define DSA_SHARES_H

#include "profiler/profile.h"
#include "profiler/session/window.h"

/* Floor of a relative interval that no spread of windows shows: queues not steady after
 * the settling steps, and a consumer that wakes up late; what truth.t sees of both. */
#define SHARES_SETTLE 2.5e-3

enum { SHARES_BLOCKS_LEAST = 8 }; /* fewer blocks do not show their spread */

struct shares {
	unsigned blocks; /* complete ones; 0 with values: of what there was */
	struct interval stalls[STAGES];
	struct interval rates[STAGES]; /* samples/s in the windows of each */
	double step_s;                 /* of a real step */
	double corrected; /* so much longer it is taken to be than it was, a share of that,
			   * as its samples had too few bytes (control.h) */
	double floor;     /* of each share's error, that no spread of blocks shows; */
	double disturbance; /* and what others may have slowed its windows by */
	/* Parts of the time of further blocks that make the shares most certain: NAN as long
	 * as there are less than two blocks. */
	double allocation[STAGES];
};

/* 0, with unknown shares when a kind has no window that may be used; or -ENOMEM. */
int shares_measure(const struct window *windows, size_t count, struct shares *shares);

/* True when the window counts: certified, of a stage, of a block, and not left out. */
bool shares_uses(const struct window *window);

/* The widest half-width of the shares; INFINITY when there is none. */
double shares_half(const struct shares *shares);

#endif
