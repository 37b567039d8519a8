/*
 * ab_trial.h - repetitions of one or two commands in an order in which drift cancels.
 *
 *	two sides: A B  B A  A B  B A ...   a pair is two next to each other
 *	one side:  A A A A ...
 */
#ifndef DSA_AB_TRIAL_H
#define DSA_AB_TRIAL_H

#include "profiler/run/short_run.h"

enum { AB_TRIAL_TRIES = 5 };

enum ab_trial_what { AB_TRIAL_COUNTED, AB_TRIAL_TIMED };

/* How far a trial is, before each launch: what is measured, and of which side. */
struct ab_trial_progress {
	enum ab_trial_what what;
	unsigned side, done, of;  /* done, of: launches */
	double elapsed_s, left_s; /* left_s NAN: unknown yet */
};

struct ab_trial_config {
	const struct measure_config *sides[2];
	unsigned side_count; /* 1 or 2 */
	unsigned pairs;      /* timed repetitions of each side, at most */
	double seconds;      /* of each */
	uint64_t samples; /* counted once for each side (short_run.h); UNKNOWN: none */
	/* Each result as it comes; not kept after the call. -errno ends the trial; 1
	 * ends it, too: there is enough. */
	int (*take)(void *context, enum ab_trial_what what, unsigned side,
		    const struct profile *profile, struct error *err);
	void (*progress)(void *context,
			 const struct ab_trial_progress *now); /* or NULL */
	void *context;
};

/* The side, 0 or 1, of timed launch number `index` of two sides. */
unsigned ab_trial_side(unsigned index);

/* 0 or -errno as short_run.h has them; what was taken before stays. A timed repetition
 * that can't be certified is tried again, up to AB_TRIAL_TRIES times. */
int ab_trial_run(const struct ab_trial_config *config, struct error *err);

#endif
