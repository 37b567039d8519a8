/*
 * whatif_curve.h - what the models predict over all cores and all sizes of the cache.
 *
 * Simulated when a report is made, as it is quicker than to keep them.
 */
#ifndef DSA_WHATIF_CURVE_H
#define DSA_WHATIF_CURVE_H

#include "loader/base/limits.h"
#include "profiler/profile.h"

enum { WHATIF_MOST_CORES = LIMIT_CORES }; /* that a curve goes to */

/* Of each only its predictions are used, along their cores or their cache_share. */
struct whatif_curves {
	struct profile cores, cache;
	struct profile_word policy; /* of the cache along the curve; borrowed */
};

/*
 * Cores from 1 to twice those of the run, 8 at least; shares from 0 to 1. Without
 * points that cannot be predicted. 0 or -ENOMEM; whatif_curves_free() in either case.
 */
int whatif_curves_make(const struct profile *profile, struct whatif_curves *curves);
void whatif_curves_free(struct whatif_curves *curves);

#endif
