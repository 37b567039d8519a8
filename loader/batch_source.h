/*
 * batch_source.h - where a loader's batches come from: a pipeline of its own, or a loader
 * that it shares with other programs. A variant is one table of operations; loader.c
 * keeps what all have in common: the public interface, numbers and counters.
 *
 * Threads as in loader.h: stats and stop from any, all else from one at a time. No call
 * after fork().
 */
#ifndef DSA_BATCH_SOURCE_H
#define DSA_BATCH_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct delivery;
struct dsa_batch;
struct dsa_stats;
struct error;
struct options;
struct plan_rest;
struct trace;
struct trace_process;

enum { DELIVERY_SLOTS = 1024 }; /* dsa_batch.slot is below it */

/* All outlive the delivery. */
struct delivery_config {
	struct options *options;
	struct trace *trace;           /* NULL: no session */
	struct trace_process *process; /* counters go here */
	bool undriven;                 /* not by the session */
	/* What it begins with, not needed after the open; NULL: a whole epoch. */
	const struct plan_rest *rest;
};

/* From when to when the caller waited. CLOCK_MONOTONIC, nanoseconds. */
struct delivery_wait {
	uint64_t asked_ns, delivered_ns;
};

struct delivery_ops {
	/* As dsa_next() (err instead of dsa_why()), without the batch's number. */
	int (*next)(struct delivery *delivery, struct dsa_batch *batch,
		    struct delivery_wait *wait, struct error *err);
	int (*release)(struct delivery *delivery, const struct dsa_batch *batch,
		       struct error *err);
	unsigned (*held)(const struct delivery *delivery); /* batches */

	/* A next() that waits, and all later ones, return 0 soon. */
	void (*stop)(struct delivery *delivery);

	/* dsa_compute() was busy at this rate, samples/s. */
	void (*emulated)(struct delivery *delivery, double rate);

	/* Fills what the process's counters do not say. */
	void (*stats)(const struct delivery *delivery, struct dsa_stats *stats);

	const char *(*class_name)(const struct delivery *delivery, uint32_t label);
	void (*close)(struct delivery *delivery);
};

/* The first member of every delivery. */
struct delivery {
	const struct delivery_ops *ops;
};

/* A pipeline of its own. NULL and err. */
struct delivery *own_open(const struct delivery_config *config, struct error *err);

/* What the shared loader at a socket delivers (DSA_SHARE); or, if options->alone says so
 * and there is none, own_open(). NULL and err. */
struct delivery *consumer_open(const struct delivery_config *config, const char *path,
			       struct error *err);

#endif
