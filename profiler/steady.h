/*
 * steady.h - cache hits in the steady state, without going through an epoch.
 *
 * One reader, every sample once an epoch in a fresh uniform order, samples of one size;
 * x is the cache's share of the data set, s the position in the epoch, 0..1.
 *
 *	minio	x: what it holds never changes
 *	lru	1 - (1-x)/(1-s) for s < x, else 0: a sample read at position u of the
 *		last epoch is still there if fewer than x others were read since; mean
 *		over the epoch x + (1-x) ln(1-x)
 *	fifo	by replay: eviction depends on what missed before
 *	page	as lru
 */
#ifndef DSA_STEADY_H
#define DSA_STEADY_H

#include <stdint.h>

/*
 * Probability of a hit at position s under `policy`; 0 for none and unknown policies.
 * fifo replays 4096 samples over a few epochs, 1 to 5 ms; NAN when memory is short.
 */
double steady_hit(const char *policy, double x, double s);

#endif
