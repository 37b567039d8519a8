/*
 * analyse.h - sessions -> the result. A pure function: of a live run, of one whose
 * target or whose dsa died, of a file read back.
 */
#ifndef DSA_ANALYSE_H
#define DSA_ANALYSE_H

#include "profiler/profile.h"

#include <stdbool.h>

struct error;
struct trace;

enum { ANALYSE_SESSIONS = STAGES }; /* at the most: one launch per kind of window */

/*
 * Fills a profile that profile_init() made from 1 to ANALYSE_SESSIONS sessions of one
 * run: what was loaded and how, windows, shares, rates, curves, proofs. Of its status
 * only dsa knows: status, target_status and wall_s are left alone, and so is what about
 * (run_metadata.h) does not hold. What was not measured stays unknown. 0 or -errno.
 */
int analyse(const struct trace *const *sessions, unsigned count,
	    struct profile *profile, struct error *err);

/* True when all shares were measured, but for those of optional stages; or, of a loader that
 * does not let them be told apart, all that training waits. */
bool analyse_complete(const struct profile *profile);

#endif
