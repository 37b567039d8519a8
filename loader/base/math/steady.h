/*
 * steady.h - cache hits in the steady state, without going through an epoch.
 *
 * One reader, every sample once an epoch in a fresh uniform order, samples of one size;
 * x is the cache's share of the data set, s the position in the epoch, 0..1. Derived in
 * steady.c; the tests hold them against replay.
 *
 *		hit at s			mean over the epoch
 *	none	0				0
 *	minio	x				x
 *	nextuse	x				x
 *	lru	1 - (1-x)/(1-s), s < x; else 0	x + (1-x) ln(1-x)
 *	fifo	1 - (1-x) e^s, s < -ln(1-x);	-ln(1-x) - x for x <= 1 - 1/e, then
 *		else 0				1 - (1-x)(e-1)
 *	random	x / (x + (1-x) e^(s/x))		-x ln(1-x + x e^(-1/x))
 *	page, and others without a law: by replay of hits_cache.h
 */
#ifndef DSA_STEADY_H
#define DSA_STEADY_H

#include "loader/base/variants.h"

#include <stdint.h>

/*
 * Chance of a hit under a policy (enum cache_id) in each of `parts` equal parts of an
 * epoch; all 0 under others. A replay takes about 2 ms, and page, whose lists' balance
 * depends on their size, asks how large the data set is. 0, or -ENOMEM.
 */
int steady_over(int policy, double x, uint64_t dataset_bytes, double *hit,
		uint32_t parts);

/* Mean hit ratio of an epoch. NAN: memory is short. */
double steady_mean(int policy, double x, uint64_t dataset_bytes);

/* The smallest x, to .0001, at which the mean hit ratio is `mean`; 1 where none is. NAN:
 * memory is short. */
double steady_share(int policy, double mean, uint64_t dataset_bytes);

#endif
