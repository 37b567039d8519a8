/*
 * verify.h - what became of predictions: the history of changes that were really run.
 */
#ifndef DSA_VERIFY_H
#define DSA_VERIFY_H

#include "profiler/profile_prediction.h"

struct error;
struct model;

/*
 * The model of the result on the machine as it is now: the unchanged run, measured again,
 * did `drift` times what the result says; unknown: it was not measured. NULL: err says why.
 */
struct model *verify_model(const struct profile *profile, struct interval drift,
			   struct error *err);

/* What is predicted of it; where it can't be, what was predicted. 0 or -errno. */
int verify_predict(const struct model *now, const struct profile_prediction *prediction,
		   struct interval *per_s, struct error *err);

/* What was measured with a change applied. */
struct verify_facts {
	struct interval predicted; /* of the machine as it is now */
	struct interval per_s;
	double drift;     /* rate of the unchanged run, measured again before, over the
		       * result's; NAN: it was not */
	double hit_ratio; /* NAN: no cache */
	const char *when; /* ISO 8601, UTC */
	const char *why;  /* how it was measured */
};

/*
 * Appends to profile.verifications, the predicted rate beside the measured one; where one
 * of them is unknown or vague, error and coverage are unknown. 0 or -ENOMEM.
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
