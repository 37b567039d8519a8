/*
 * ab_trial.h - repetitions of one or two commands in an order in which drift cancels.
 *
 *	two sides: A B  B A  A B  B A ...   a pair is two next to each other
 *	one side:  A A A A ...
 */
#ifndef DSA_AB_TRIAL_H
#define DSA_AB_TRIAL_H

#include "profiler/run/short_run.h"

enum { TRIAL_TRIES = 5 };

enum trial_what { TRIAL_COUNTED, TRIAL_TIMED };

/* How far it is, before each launch: what it is to measure, and of which side. */
struct trial_news {
	enum trial_what what;
	unsigned side, done, of;  /* done, of: launches */
	double elapsed_s, left_s; /* left_s NAN: unknown yet */
};

struct trial_config {
	const struct measure_config *sides[2];
	unsigned side_count; /* 1 or 2 */
	unsigned pairs;      /* timed repetitions of each side */
	double seconds;      /* of each */
	uint64_t samples;    /* counted, once for each side, as repetition.h has
			      * them; UNKNOWN: none are */
	/* Each result as it comes; not kept after the call. -errno ends the trial. */
	int (*take)(void *context, enum trial_what what, unsigned side,
		    const struct profile *profile, struct error *err);
	void (*tell)(void *context, const struct trial_news *news); /* or NULL */
	void *context;
};

/* Whose turn it is, 0 or 1, when `index` timed launches of two sides were before. */
unsigned trial_side(unsigned index);

/* 0 or -errno as repetition.h has them; what was taken before stays. A timed repetition
 * that can't be certified is tried again, up to TRIAL_TRIES times. */
int trial_run(const struct trial_config *config, struct error *err);

#endif
