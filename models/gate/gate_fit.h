/*
 * gate_fit.h - whether two sides of a comparison are of one machine and one data set.
 */
#ifndef DSA_GATE_FIT_H
#define DSA_GATE_FIT_H

#include "profiler/profile.h"

#define GATE_FIT_DATA "data set's " /* begins lines of the data set, which come first */

struct gate_fit {
	char **lines; /* "cpu: AMD EPYC 7763, was Xeon 8370C"; ends with a NULL */
	size_t count;
	bool other_machine, other_data;
};

/*
 * 0 or -ENOMEM; gate_fit_free() in any case. Settings are no part of it: they are what
 * is compared. Sides that were measured together are of one machine, though its CPU has
 * no name; others are not known to be.
 */
int gate_fit_check(const struct profile *base, const struct profile *now, bool together,
		   struct gate_fit *fit);
void gate_fit_free(struct gate_fit *fit);

#endif
