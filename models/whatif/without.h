/* without.h - which part of a run's preparation a change leaves out. */
#ifndef DSA_WITHOUT_H
#define DSA_WITHOUT_H

#include "profiler/profile_change.h"

struct error;

/* Sets change->without. 0; -EINVAL: the run has no such part (err: those that it has, and the
 * one that was meant); -ENOMEM. */
int without_set(struct profile_change *change, const char *name,
		const struct profile *profile, struct error *err);

#endif
