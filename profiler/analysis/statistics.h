/*
 * statistics.h - intervals for ratios of block sums. Pure functions.
 *
 * Jackknife: Quenouille 1956, Tukey 1958; for ratios see Cochran, Sampling Techniques,
 * 6.17.
 */
#ifndef DSA_STATISTICS_H
#define DSA_STATISTICS_H

#include "profiler/profile.h"

#include <stddef.h>

/*
 * The 95 % interval of an estimate `full` over n blocks, from the n estimates that
 * leave one block out. `floor` bounds an error that no spread of blocks shows: it has
 * nothing to do with theirs, so that the two add as squares (GUM, JCGM 100:2008, 5.1).
 * With n < 2 it has no bounds.
 */
struct interval statistics_jackknife(double full, const double *without, size_t n,
				     double floor);

/* A block at a place of what changes smoothly from place to place. */
struct placed {
	double place;
	double part;    /* of all that the blocks weigh */
	double without; /* the estimate that leaves it out */
};

/*
 * The same for such blocks, 4 or more, which it sorts: what counts as noise is how far each
 * is off the line between its neighbours (Gasser, Sroka and Jennen-Steinmetz 1986).
 */
struct interval statistics_ordered(double full, struct placed *blocks, size_t n,
				   double floor);

/* Mean of n independent values and its 95 % interval. */
struct interval statistics_mean(const double *values, size_t n);

/* The interval cut to what is possible; its value, which noise may carry beyond that,
 * stays in it. */
struct interval statistics_within(struct interval interval, double least, double most);

#endif
