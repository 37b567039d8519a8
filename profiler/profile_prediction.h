/*
 * profile_prediction.h - what other inputs would take, what changes would bring, and what
 * those brought that were really run: members of a profile.
 */
#ifndef DSA_PROFILE_PREDICTION_H
#define DSA_PROFILE_PREDICTION_H

#include "profiler/profile_change.h"

/*
 * What prep would take of the same samples if they were stored or delivered otherwise, as
 * resize, type and decoded of the change say; measured on some of them.
 */
struct profile_recipe {
	struct profile_change change;
	struct interval prep_ratio; /* of prep's CPU time to that of the run's recipe */
	double bytes_ratio;         /* of the bytes stored */
	uint64_t samples;           /* that were measured */
};

/* What a change would bring. Texts NULL where there is nothing to say. */
struct profile_prediction {
	struct profile_change change;
	struct interval per_s;   /* samples/s, of all jobs; value NAN: only bounds are
				       * known */
	struct interval per_job; /* the same of one job; unknown unless jobs change */
	struct interval speedup; /* over the run as it was, of the same model */
	struct interval stalls[STAGES]; /* that remain */
	double hit_ratio;
	/* Of all jobs together; NAN unless jobs change, or unknown. */
	double memory_bytes, read_bytes_per_s, prep_cores;
	struct interval cost;           /* of an epoch, in profile.currency */
	struct profile_traffic traffic; /* of an epoch, where servers have the data */
	struct profile_word limit;      /* what limits then, of profile_limits */
	char *advice;  /* "a minio cache of 70% removes the fetch stall" */
	char *why;     /* what it assumes, or why it is not advised; one line */
	char *command; /* a dsa command line that verifies it */
	uint64_t rank; /* of the advice, from 1; UNKNOWN: not advised */
};

/* A change that was really run. */
struct profile_verification {
	struct profile_change change;
	char *when; /* ISO 8601, UTC */
	struct interval
		predicted; /* samples/s, on a machine so far drifted; or unknown */
	double drift; /* rate of the unchanged run, measured again beside it, over the
		       * result's; NAN: it was not */
	struct interval measured; /* samples/s, of all jobs */
	double error;             /* predicted / measured - 1 */
	int covered;              /* 1: predicted's interval holds it; -1: unknown */
	double hit_ratio, hit_ratio_predicted;
	char *why; /* how it was measured: whole epochs, windows, drawn hits */
};

/* Frees the change and the texts of a prediction; its numbers stay. */
void profile_prediction_free(struct profile_prediction *prediction);

/* Forgets all predictions; pointers to them are void after that. */
void profile_drop_predictions(struct profile *profile);

#endif
