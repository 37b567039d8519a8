/*
 * remedy.h - what may take away a stall, and how much of it: the knee, the least with 90 %
 * of what any amount of it would gain. Private to models/whatif/.
 */
#ifndef DSA_REMEDY_H
#define DSA_REMEDY_H

#include "profiler/profile_change.h"

struct error;
struct model;

struct remedy_context {
	const struct profile *profile;
	const struct model *model;
	double best; /* gain of the best remedy so far; 1: none */
};

struct remedy {
	struct profile_change change;
	char advice[128]; /* what to do, in words */
	double beyond; /* a combination has to gain more than a part of it: 1: none */
};

/*
 * Fills a remedy, whose change is none yet. 1; 0: it is no matter for this run; -ENODATA
 * or -EINVAL: the run does not show it, and err says why; -ENOMEM.
 */
typedef int remedy_make(const struct remedy_context *context, struct remedy *remedy,
			struct error *err);

/* What stalls has to be there for a remedy to be looked at: any of these. */
struct remedy_kind {
	bool prep, fetch;
	bool both;   /* only with both of them */
	bool libdsa; /* only of libdsa's loader */
	remedy_make *make;
};

enum { REMEDIES = 14 };

/* In this order, as combinations have to gain more than their parts. */
extern const struct remedy_kind remedy_table[REMEDIES];

#endif
