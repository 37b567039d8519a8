/*
 * barrier.h - keeps the jobs of a run in step. It reads their sessions, sets may_begin
 * and may_end in them (trace.h), and takes the time from its caller.
 *
 * All sessions have the same windows, one at a time: the last one asked for. A job that
 * ended, or that stopped making progress while others wait, leaves; the others go on.
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

/* Adds a job, before its program starts. Its session outlives the barrier. */
void barrier_join(struct barrier *barrier, struct trace *trace);

/* Takes a job out: it and the others no longer wait for each other. */
void barrier_leave(struct barrier *barrier, unsigned job);

/* True when all jobs asked for a batch and finished every window asked for. */
bool barrier_over(const struct barrier *barrier);

/* Lets the window begin, or end, where all jobs are ready for it. */
void barrier_pass(struct barrier *barrier);

/*
 * Returns a job that others wait for and whose barrier_life() did not change for 10 s
 * and for 4 times as long as ever before; -1: none. Call it often.
 */
int barrier_lost(struct barrier *barrier, uint64_t now_ns);

/* A number that changes whenever the program asks for a batch or its loader works. */
uint64_t barrier_life(const struct trace *trace);

/* The first job that takes part; -1: none. */
int barrier_first(const struct barrier *barrier);

#endif
