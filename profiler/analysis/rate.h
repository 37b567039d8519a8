/*
 * rate.h - the rate of a session's real windows, its interval, its hits. Pure.
 */
#ifndef DSA_RATE_H
#define DSA_RATE_H

#include "loader/base/trace.h"
#include "profiler/profile.h"

/* How fast training is in one configuration. */
struct measure_rate {
	struct interval
		per_s;    /* samples/s of real windows, of all jobs together; blocks
				* are windows */
	double hit_ratio; /* of the loader's cache, or by whole epochs of the
				* kernel's; NAN: it has none, or nobody knows */
	unsigned windows; /* counted */
	char why[160]; /* how: "6 whole epochs in 4 windows", "12 windows, hits drawn"
			*/
};

/*
 * Certified windows of blocks count; blocks are windows. Of drawn ones each stands for
 * an equal part of the epoch, and these weigh alike. 0, with rate->windows 0 when there is
 * none, or -ENOMEM.
 */
int rate_measure(const struct trace *trace, struct measure_rate *rate);

#endif
