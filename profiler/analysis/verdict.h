/*
 * verdict.h - what limits the job today, in words and by which evidence; and what the
 * shares would need to be as precise as asked.
 */
#ifndef DSA_VERDICT_H
#define DSA_VERDICT_H

#include "profiler/profile.h"

/*
 * Sets limit, limit_next and limit_why. Of the stages whose stall is larger than its own
 * interval the one that sustains the least by itself limits, as taking away the stall of
 * another gains nothing; the next of them would limit then. Compute, where no stall is
 * left. Prep sustains what cached windows do, as it shares its cores with the step; fetch
 * what fetch windows do, or without these what real windows do. Of a loader that is not
 * libdsa's the largest stall limits, as its workers read and prepare in series. 0 or -ENOMEM.
 */
int verdict_limit(struct profile *profile);

/*
 * Budget in seconds after which the half-width would be `precision`: what blocks took
 * so far, times (half^2 - floor^2) / (precision^2 - floor^2), at least 8 blocks, and
 * `other_s`. NAN when no number of blocks can get there.
 */
double verdict_budget(double half, double floor, double precision, unsigned blocks,
		      double blocks_s, double other_s);

#endif
