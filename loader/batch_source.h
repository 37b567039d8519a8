/*
 * batch_source.h - where a loader's batches come from: a pipeline of its own, or a
 * loader that it shares with other programs. A variant is one table of operations;
 * loader.c keeps what all have in common: the public interface, numbers and counters.
 *
 * Threads as in loader.h: stats and stop from any, all else from one at a time. No call
 * after fork().
 */
#ifndef DSA_BATCH_SOURCE_H
#define DSA_BATCH_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct batch_source;
struct dsa_batch;
struct dsa_device_batch;
struct dsa_stats;
struct error;
struct options;
struct plan_rest;
struct trace;
struct trace_process;

enum { BATCH_SOURCE_SLOTS = 1024 }; /* dsa_batch.slot is below it */

/* All outlive the delivery. */
struct batch_source_config {
	struct options *options;
	struct trace *trace;           /* NULL: no session */
	struct trace_process *process; /* counters go here */
	bool undriven;                 /* not by the session */
	/* What it begins with, not needed after the open; NULL: a whole epoch. */
	const struct plan_rest *rest;
};

/* From when to when the caller waited. CLOCK_MONOTONIC, nanoseconds. */
struct batch_source_wait {
	uint64_t asked_ns, delivered_ns;
};

struct batch_source_ops {
	/* As dsa_next() (err instead of dsa_why()), without the batch's number. */
	int (*next)(struct batch_source *delivery, struct dsa_batch *batch,
		    struct batch_source_wait *wait, struct error *err);
	int (*release)(struct batch_source *delivery, const struct dsa_batch *batch,
		       struct error *err);

	/* The stream of the next() that comes, and then NULL: the program's work may be
	 * waited for in it. Not NULL where those below are not. */
	void (*device_ask)(struct batch_source *delivery, void *stream);

	/* gpu_idle_but_copies() of its device. NULL: not to devices. */
	uint32_t (*device_still)(const struct batch_source *delivery);

	/* As dsa_wait_device(), and fills data, labels and sample_bytes; before release,
	 * what dsa_release_device() does beyond that. NULL: not to devices. */
	int (*device_wait)(struct batch_source *delivery,
			   struct dsa_device_batch *batch, void *stream,
			   struct error *err);
	int (*device_release)(struct batch_source *delivery,
			      const struct dsa_batch *batch, void *stream,
			      struct error *err);

	unsigned (*held)(const struct batch_source *delivery); /* batches */

	/* A next() that waits, and all later ones, return 0 soon. */
	void (*stop)(struct batch_source *delivery);

	/* dsa_compute() was busy at this rate, samples/s. NULL: no session is driven. */
	void (*emulated)(struct batch_source *delivery, double rate);

	/* Fills what the process's counters do not say. */
	void (*stats)(const struct batch_source *delivery, struct dsa_stats *stats);

	const char *(*class_name)(const struct batch_source *delivery, uint32_t label);
	void (*close)(struct batch_source *delivery);
};

/* The first member of every delivery. */
struct batch_source {
	const struct batch_source_ops *ops;
};

/* A pipeline of its own. NULL and err. */
struct batch_source *local_open(const struct batch_source_config *config,
				struct error *err);

/* What the shared loader at a socket delivers (DSA_SHARE); or, if options->alone says
 * so and there is none, local_open(). NULL and err. */
struct batch_source *consumer_open(const struct batch_source_config *config,
				   const char *path, struct error *err);

#endif
