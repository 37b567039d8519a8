/*
 * events.h - the threads of a simulated pipeline, and time.
 *
 *	while not done: events_begin(): who can begin something does
 *			events_step(): on to when the next of them is done
 */
#ifndef DSA_SIMULATION_EVENTS_H
#define DSA_SIMULATION_EVENTS_H

#include "models/simulation/agenda.h"
#include "models/simulation/feed.h"

struct task {
	uint32_t place; /* of the feed; prep, read */
	bool stored;    /* read: the storage itself is done */
	double start;   /* read: as the throttle sees it */
	double until;   /* not done before; read: when the last one was due */
};

/* Those that have nothing to do; the one that came last is the first to go. */
struct idle {
	uint32_t *who;
	uint32_t count;
};

/* While counting: integrals over time, and counts. */
struct sums {
	double begin; /* when they were zeroed */
	double blocked, prep, fetch, cpu;
	uint64_t samples, hits, prepared;
};

struct simulation {
	const struct simulation_load *load;
	struct feed feed;
	double speed[SIMULATION_THREADS + 1];

	double now, worked;
	unsigned running;    /* threads that want a core */
	struct agenda cpu;   /* by `worked` at the end */
	struct agenda clock; /* by time */
	struct task
		*tasks; /* who: 0 the consumer, then workers, then reads in flight */

	uint32_t places;   /* of all slots */
	uint32_t *waiting; /* those for a fetch thread, in order: a ring */
	uint64_t wait_head, wait_tail;
	struct agenda ready; /* those for a worker, by their position in the stream */

	uint64_t published, taken, released; /* batches */
	uint64_t credits;                    /* loaded: batches that prep may open */
	bool computing;
	struct idle workers, reads;
	unsigned issuing;       /* fetch threads at work */
	double starved, passed; /* throttle: loader/fetch/fetch.c, loader/throttle.c */
	uint64_t first, last;   /* batches counted: taken in [first, last) */
	struct sums sums;
};

/* For zeroed storage with its load, feed, speed[] and room for all who work in it. */
void events_begin(struct simulation *sim);
void events_step(struct simulation *sim);

#endif
