/* torch_run.h - made-up runs of a loader whose workers make whole batches, as torch's does. */
#ifndef DSA_TESTS_TORCH_RUN_H
#define DSA_TESTS_TORCH_RUN_H

#include "profiler/profile_prediction.h"

#include <stdbool.h>

#define MS 1e-3

enum { TORCH_RUN_BATCH = 32, TORCH_RUN_RATE = 300 };

/* On two cores, with an accelerator that does 300 samples/s; or on one alone. */
struct torch_run {
	unsigned workers;
	double cpu_s, sleep_s; /* of preparing a sample */
	double latency_s;      /* emulated, of reading one */
	double native_s;       /* what it takes of storage that is not emulated */
	double handover_s;     /* of a batch */
	double real;           /* 0: by the closed form */
	double kernels;  /* part of a step that a device computes; 0: none was seen */
	bool unmeasured; /* prep alone was */
	bool alone;      /* one core does the step, too, and all is work */
	bool reads_ahead; /* a thread of the program, which takes over and makes batches */
};

/* Prep and reads that sleep: 2 ms and 8 ms of a sample. */
extern const struct torch_run torch_run_sleeper;

/* The profile of a run of 2000 samples of 100 kB, which ends with profile_free(). */
void torch_run_make(struct profile *profile, const struct torch_run *run);

/* Adds a part of prep with so much of a sample. */
void torch_run_add_part(struct profile *profile, const char *name, double mean_s);

/* Fails the test unless the prediction is within 2 % of the truth and its interval holds it. */
void torch_run_expect(const struct torch_run *run, const struct profile_change *change,
		      double truth);

#endif
