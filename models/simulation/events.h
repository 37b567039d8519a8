/*
 * events.h - the threads of simulated pipelines, and time.
 *
 *	events_begin(): of each pipeline begins all that can begin
 *	while not done: events_step(): advances to the next end of one of them, after
 *			which more can begin in its own pipeline alone
 *
 * Of workers in turn (batch_worker.h) each reads by the place of the same number among
 * the reads, and never while it prepares.
 */
#ifndef DSA_SIMULATION_EVENTS_H
#define DSA_SIMULATION_EVENTS_H

#include "loader/base/random.h"
#include "models/simulation/agenda.h"
#include "models/simulation/intake.h"

struct task {
	uint32_t place; /* of the intake; prep, read */
	bool stored;    /* read: the storage itself is done */
	bool refused;   /* read: the answer that comes is that there were too many; */
	bool resting;   /* or it waits to ask again, */
	bool spinning;  /* step: a thread runs until its time is over */
	unsigned tries; /* for as long as so many refusals make it */
	double start;   /* read: as the throttle sees it */
	double until;   /* not done before; read: when the last one was due */
};

/* Those that have nothing to do; the one that came last is the first to go. */
struct idle {
	uint32_t *who;
	uint32_t count;
};

/* One that makes whole batches. */
struct batch_worker {
	uint64_t batch;  /* its number: the one that it makes, or will */
	uint32_t sample; /* of it, in turn */
	double since;    /* when it began with that */
	bool busy;
};

/* While counting: integrals over time, and counts. */
struct sums {
	double begin; /* when they were zeroed */
	double blocked, prep, fetch, cpu;
	uint64_t prepared;
};

/* A job: it takes batches, and gives them back one after the other. */
struct consumer {
	double compute_s;                 /* a step, by the clock */
	uint64_t copied, taken, released; /* batches */
	bool copying, computing;
	double begin, end;       /* when it took the first and the last that count */
	uint64_t samples, hits;  /* between these */
	uint64_t pending, found; /* the same with the last one */
};

/* With its threads: who = first + 0 .. its consumers, then workers, then reads; then the
 * copies to the device, one for each consumer, if batches are copied. */
struct pipeline {
	struct intake intake;
	uint32_t first;
	struct consumer *consumers;
	uint32_t consumer_count;

	uint32_t places;   /* of all slots */
	uint32_t *waiting; /* those for a fetch thread, in order: a ring */
	uint64_t wait_head, wait_tail;
	struct agenda ready; /* those for a worker, by their position in the stream */

	uint64_t published, released; /* batches; released by all consumers */
	uint64_t credits;             /* loaded: batches that prep may open */
	struct idle workers, reads;
	struct batch_worker *batch_workers; /* NULL: pools */
	unsigned issuing;                   /* fetch threads at work */
	/* The throttle's: loader/fetch/engine.c, loader/base/throttle.c */
	double starved, passed;
};

struct simulation {
	const struct simulation_load *load;
	double *speed; /* [running] */

	double now, worked;
	unsigned running;    /* threads that want a core */
	struct agenda cpu;   /* by `worked` at the end */
	struct agenda clock; /* by time */
	struct task *tasks;  /* who */

	struct pipeline *pipelines;
	uint32_t pipeline_count;
	uint32_t threads; /* of a pipeline, consumers and reads counted */
	uint32_t consumers, computing, preparing, reading; /* of all; at it */
	struct random random;                              /* of rests */
	double spent, since; /* of the bucket's rate: requests, at that time */
	double passed; /* what the storage that they share has transferred by then */
	uint64_t first, last; /* batches counted: taken in [first, last) */
	uint64_t enough;      /* of a slow consumer, up to this one */
	uint32_t behind;      /* consumers that have not taken it */
	bool ended;           /* one has taken `last` */
	struct sums sums;
};

/* For zeroed storage with its load, intakes, speed[] and room for all who work in
 * it. */
static inline bool simulation_done(const struct simulation *sim)
{
	return sim->ended && sim->behind == 0;
}

void events_begin(struct simulation *sim, struct pipeline *pipeline);
struct pipeline *events_step(struct simulation *sim); /* what ended is in this one */

/* ---- for batch_worker.c ---- */

/* As many batches as there are free slots for. True if one was opened. */
bool events_open(struct simulation *sim, struct pipeline *pipeline);

/* `who`, who has nothing to do, begins with a sample. */
void events_read(struct simulation *sim, struct pipeline *pipeline, uint32_t who,
		 uint32_t place);
void events_prepare(struct simulation *sim, struct pipeline *pipeline, uint32_t who,
		    uint32_t place);

#endif
