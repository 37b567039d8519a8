/* known_run.h - made-up runs whose truth is known, and what the model says of them. */
#ifndef DSA_TESTS_KNOWN_RUN_H
#define DSA_TESTS_KNOWN_RUN_H

#include "profiler/profile_prediction.h"

/* On some cores: an emulated accelerator, prep that scales, throttled storage. */
struct known_run {
	double compute_per_s; /* of the accelerator */
	double prep_s;        /* CPU of a sample */
	unsigned cores, workers;
	double bandwidth; /* 0: not throttled */
	double latency_s;
	double share;      /* of a minio cache */
	double real;       /* 0: as the closed form says */
	unsigned jobs;     /* 0: one; measured side by side, each with a loader */
	double copy_per_s; /* to a device; 0: there is none */
	double kernel; /* 0: hits of the page cache, of a storage that nothing throttles */
};

/* They do 500, 2000 and 500 samples/s, on two cores. */
extern const struct known_run known_fetch_bound, known_prep_bound, known_compute_bound;

/* Give or take 1 %. */
struct interval known_about(double value);

/* The profile of a run of 2000 samples of 100 kB, which ends with profile_free(). */
void known_run_make(struct profile *profile, const struct known_run *run);

/* Adds a second of a window; CPU of a sample. */
void known_run_add_window(struct profile *profile, const char *kind, double per_s,
			  double cpu_s, double prep_cpu_s);

/* Adds pictures stored with a shorter side of `resize`: a tenth of prep and of bytes. */
void known_run_add_tenth(struct profile *profile, unsigned resize);

/* The prediction of a change, which ends with profile_free(). */
struct profile_prediction *known_run_predict(struct profile *profile,
					     const struct profile_change *change);

/* Fails the test unless the prediction is within 3 % of the truth and its interval
 * holds it. */
void known_run_expect(const struct known_run *run, const struct profile_change *change,
		      double truth);

#endif
