/*
 * inputs.h - what one run measured of its stages alone, each with how sure it is. It
 * takes nothing from real windows but what reads cost there and slowed_real_s; and, where
 * inputs_staged() says so, what cached ones would show. Private to models/.
 */
#ifndef DSA_INPUTS_H
#define DSA_INPUTS_H

#include "loader/base/variants.h"
#include "models/predict/cores.h"
#include "models/predict/storage.h"

struct error;

enum { SPEEDS = 1024 }; /* of the tables that cores_speeds() fills here */

/* What can be off, each by a factor 1 +- its half-width. */
enum input {
	INPUT_COMPUTE,  /* the consumer's time */
	INPUT_PREP,     /* CPU work of a sample */
	INPUT_STORAGE,  /* its latency, and 1 / bandwidth */
	INPUT_FETCH,    /* CPU work of a read */
	INPUT_COPY,     /* of a sample to the device */
	INPUT_CORES,    /* what several cores give together */
	INPUT_HANDOVER, /* what a step loses at its edge to threads that it wakes */
	INPUT_RECIPE,   /* prep of samples stored or delivered otherwise */
	INPUT_SHARE,    /* writing a batch into shared memory, where the run did not */
	INPUTS
};

struct inputs {
	struct cores cores;
	struct storage storage;
	bool fetched; /* storage is known */

	/* The consumer, for a sample: time by the clock, of which fixed_s does not
	 * depend on how fast the accelerator is; and CPU work at speed 1 within it,
	 * that threads share. */
	double compute_s, fixed_s, compute_cpu_s;
	unsigned compute_threads;
	bool spins; /* a thread waits for the device on the CPU, which is none of its work */
	double slowed_s; /* what a step of a cached window was longer than a synthetic
			  * one, waiting for a batch left out; NAN: unknown */
	double slowed_real_s; /* the same of a real window: for who knows that it was */

	/* Prep: CPU work of a sample at speed 1 on average, what it waits besides, what
	 * a draw's prep_s is to be multiplied by to give them, and --prep-delay, as late as
	 * its timers are; and the CPU time of a sample as it was measured. */
	double prep_s, wait_s, prep_scale, wait_scale, delay_s, work_s;

	/* Of a loader whose workers make whole batches, in turn. */
	bool in_turn;
	double handover_s; /* of a batch to the training thread, which does it */
	double latencies;  /* that are emulated, of a sample */
	/* Of a batch, which the run did not do, else 0: for a worker to pickle it, into
	 * memory that processes share, and for the trainer to unpickle it. */
	double share_s, unpickle_s;
	double made_s; /* what a sample took in cached windows, beside all else that ran
			* there, where it is not known what it takes alone; else NAN */

	double copy_s;      /* of a sample to the device; 0: there is none */
	double fetch_cpu_s; /* CPU work of a read */
	unsigned fetch_threads;

	enum cache_id policy;
	double share; /* of the data set that the cache holds */
	bool on_disk; /* and it is one on disk, */
	double hit_s; /* whose hits take so long; NAN: there were none */

	struct profile_draw *draws; /* own */
	size_t draw_count;
	double half
		[INPUTS]; /* relative half-widths of 95 %; a recipe's is the change's */
};

/* -ENODATA (err: which measurement is missing) or -ENOMEM. */
int inputs_of(const struct profile *profile, struct inputs *inputs, struct error *err);
void inputs_free(struct inputs *inputs);

/* True where nothing came from storage: no file was read, or its pages were in memory. Only
 * of a program's own loader is that known. */
bool inputs_from_memory(const struct profile *profile);

/* True where batches can't be given again and are read from storage: what that takes, and
 * how often it would be, is known as the run had it alone. */
bool inputs_is_stream(const struct profile *profile);

/* The windows that show prep beside the step: real ones where batches can't be given again
 * for cached ones; of a stream's, less what reading took. */
enum trace_kind inputs_staged(const struct profile *profile);

/* What prep of a sample waits besides its work. */
void inputs_set_wait(struct inputs *inputs, double wait_s);

/* True where the step computes on the CPU: there is no accelerator. */
bool inputs_on_cpu(const struct inputs *inputs);

#endif
