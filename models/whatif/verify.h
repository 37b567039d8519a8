/*
 * verify.h - what became of predictions: the history of changes that were really run.
 */
#ifndef DSA_VERIFY_H
#define DSA_VERIFY_H

#include "profiler/profile_prediction.h"

struct error;

/* What was measured with a change applied. */
struct verify_facts {
	struct interval per_s;
	struct interval drift; /* rate of the unchanged run, measured again before, over
				* the result's; unknown: it was not */
	double hit_ratio;      /* NAN: no cache */
	const char *when;      /* ISO 8601, UTC */
	const char *why;       /* how it was measured */
};

/*
 * Appends to profile.verifications, the prediction's rate beside the measured one, which a
 * machine that is faster or slower now changes as it does the unchanged run; a prediction
 * without a rate leaves error and coverage unknown. 0 or -ENOMEM.
 */
int verify_note(struct profile *profile, const struct profile_prediction *prediction,
		const struct verify_facts *facts, struct error *err);

/* True when the history holds that change. */
bool verify_done(const struct profile *profile, const struct profile_change *change);

/*
 * Puts the newest verification of each of these changes behind all others, in this
 * order. Returns the index of the first of them.
 */
size_t verify_sort(struct profile *profile, const struct profile_change *changes,
		   size_t count);

#endif
