/*
 * depth.h - how many requests are in flight, by what they took. Private to
 * loader/pipeline/. Knows no clock and no thread: times are given to it.
 *
 * By Little's law rate x latency are under way (Little, 1961: L = lambda W). So many are
 * enough for whoever takes batches without waiting; while it waits the number doubles for
 * as long as that brings more answers a second.
 *
 *	waits, all in flight busy	doubled; back again if the rate did not follow, and
 *					not tried again for a while, longer each time
 *	takes without waiting		falls towards what is needed, a half at a time
 */
#ifndef DSA_DEPTH_H
#define DSA_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

/* A stretch of time, and what happened in it. */
struct depth_span {
	uint64_t begin_ns;
	uint64_t answers,
		latency_ns;    /* requests that ended, and their times added up */
	uint64_t takes, taken; /* batches that were taken, and their requests */
	uint64_t waited_ns;    /* for batches */
};

struct depth {
	unsigned now;  /* requests in flight at the most */
	unsigned most; /* that it may become */
	struct depth_span quick, calm;
	unsigned skip;    /* answers that are not watched, as others were in flight */
	uint64_t wait_ns; /* since when somebody waits for a batch; 0: nobody does */
	bool silent; /* nobody says so: as long as all in flight are busy somebody does */

	unsigned before;    /* while more are tried: what there was, */
	double before_rate; /* and how many answers a second; 0: none are tried */
	unsigned hold,
		held; /* spans until more are tried again, and after the next failure */
	unsigned least, calms; /* fewer made somebody wait; spans since then */
	bool fell;             /* since the last doubling */
};

/* What Little's law says, rounded up. */
unsigned depth_needed(double latency_s, double per_s);

/* most: 1 or more. */
void depth_init(struct depth *depth, unsigned begin, unsigned most);

/* Begins anew to watch, as after a pause. */
void depth_watch(struct depth *depth, uint64_t now_ns);

/* A request ended. True: depth->now is another one from here on. */
bool depth_answer(struct depth *depth, uint64_t now_ns, uint64_t latency_ns);

/* Somebody begins to wait for a batch. */
void depth_wait(struct depth *depth, uint64_t now_ns);

/* A batch was taken, for which there were so many requests. As depth_answer(). */
bool depth_take(struct depth *depth, uint64_t now_ns, uint32_t requests);

#endif
