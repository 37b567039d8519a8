/*
 * barrier.h - keeps the jobs of a run in step. Pure: it looks at their sessions, sets
 * what these say of steps (trace.h), and takes the clock from its caller.
 *
 * All sessions have the same windows, and one at a time: the last one asked for. A job
 * that ended, or that others wait for in vain, leaves; they go on without it.
 */
#ifndef DSA_BARRIER_H
#define DSA_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

struct trace;

enum { BARRIER_JOBS = 32, BARRIER_MEMBERS = BARRIER_JOBS + 1 /* a shared loader */ };

struct barrier_job {
	struct trace *trace;
	bool in;
	uint64_t life;    /* barrier_life() when it was seen last */
	uint64_t seen_ns; /* when that changed last, or nobody waited for it */
	uint64_t gap_ns;  /* the longest time that it took to change */
};

struct barrier {
	struct barrier_job jobs[BARRIER_MEMBERS];
	unsigned count;
};

/*
 * Takes a job in, before its program starts. Its session, which says that it is in step
 * if it is not the only one, outlives the barrier.
 */
void barrier_join(struct barrier *barrier, struct trace *trace);

/* The others do not wait for it any more, and it does not wait for them. */
void barrier_leave(struct barrier *barrier, unsigned job);

/* True when all jobs asked for a batch, and are over with every window asked for. */
bool barrier_over(const struct barrier *barrier);

/* Lets the window begin, or end, where all jobs are ready for it. */
void barrier_pass(struct barrier *barrier);

/*
 * A job that others wait for and that showed no sign of life for 10 s, and for 4 times
 * as long as it ever did before; -1: none. To be called often.
 */
int barrier_lost(struct barrier *barrier, uint64_t now_ns);

/* Another number whenever the program asks, the driver goes on, or its loader works. */
uint64_t barrier_life(const struct trace *trace);

/* The first job that is in; -1: none. */
int barrier_first(const struct barrier *barrier);

#endif
