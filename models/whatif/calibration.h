/* calibration.h - how good predictions were: over all verifications of a result. */
#ifndef DSA_CALIBRATION_H
#define DSA_CALIBRATION_H

#include "profiler/profile.h"

/*
 * A workload is a setting that was verified, from which single steps lead to two or
 * more others that were: one thing changed to the faster side (more cores, with the
 * workers that follow them, more workers or cache, a faster accelerator or storage,
 * another policy to minio), by no more than there is, all else the same. What a change
 * leaves out is as in the run, and of a setting verified more than once the last counts.
 * Looks at the last 2000 verifications for them.
 */
struct calibration {
	size_t count;       /* verifications with a prediction that has a value */
	double mean;        /* absolute error of the rate, relative */
	double p95, worst;  /* of the same; the 95th percentile by nearest rank */
	double bias;        /* mean signed error */
	double covered;     /* share inside the 95 % interval, of those that have one */
	size_t workloads;   /* settings that several single steps lead from */
	size_t first_right; /* where the step predicted best measured best */
	size_t first_within; /* or not measurably worse than the best: by no more than
			      * the half-widths of the two together */
};

/* 0 or -ENOMEM. All NAN and 0 when there is nothing to score. */
int calibration_measure(const struct profile *profile, struct calibration *score);

#endif
