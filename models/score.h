/* score.h - how good predictions were: over all verifications of a result. */
#ifndef DSA_SCORE_H
#define DSA_SCORE_H

#include "profiler/profile.h"

struct score {
	size_t count;        /* verifications with a prediction that has a value */
	double mean;         /* absolute error of the rate, relative */
	double p95, worst;   /* of the same; the 95th percentile by nearest rank */
	double bias;         /* mean signed error */
	double covered;      /* share inside the 95 % interval */
	size_t workloads;    /* settings that several single steps lead from */
	size_t first_right;  /* where the step predicted best measured best */
	size_t first_within; /* or not measurably worse than the best */
};

/* 0 or -ENOMEM. All NAN and 0 when there is nothing to score. */
int score_verifications(const struct profile *profile, struct score *score);

#endif
