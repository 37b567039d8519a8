/*
 * turn_proof.h - the stalls once more for a loader whose workers make batches in turn:
 * real windows replayed with I/O as in cached ones.
 *
 * What the steps then wait is prep, what they were blocked beyond that is fetch. The
 * same replay with I/O as it was must give what they were blocked, or it proves
 * nothing. It serves for programs that are only observed, too. Pure functions.
 */
#ifndef DSA_TURN_PROOF_H
#define DSA_TURN_PROOF_H

#include "profiler/analysis/turn_replay.h"

/* Who made a batch, and when; what it took. */
struct turn_made {
	uint64_t worker; /* a process: any number */
	double begin_s;
	struct turn_batch batch;
	size_t place; /* turn_order()'s */
};

/*
 * Puts batches that were made in whatever order into that in which they were given out:
 * by turns of the workers or, of a loader that delivers in any order, by when they were
 * begun. 0; -ENOMEM: they stay as they are.
 */
int turn_order(struct turn_made *made, size_t count, bool any_order);

/* A real window. */
struct turn_window {
	struct turn_replay replay; /* its first step asks when no worker has a batch */
	size_t settle;             /* steps before those that are measured: */
	double wall_s, blocked_s;  /* these took, and of it waiting for a batch */
};

struct turn_proof {
	double prep, fetch; /* shares of wall time */
	double off; /* blocked share by the replay of I/O as it was, less the real */
	bool valid; /* the replay is so near that the shares may be shown */
	unsigned windows; /* that these are of; the others lack records */
};

/* False: no window has records enough. */
bool turn_proof_of(const struct turn_window *windows, size_t count,
		   double io_s_per_byte, struct turn_proof *proof);

/* Seconds a byte that cached windows' batches took to read; 0: they read nothing. */
double turn_proof_io(const struct turn_batch *cached, size_t count);

/* A batch that the trainer asked for and got. */
struct turn_delivery {
	double requested_s, made_s, delivered_s; /* by one clock */
};

/*
 * How long a batch takes from when it is made and asked for until the trainer has it:
 * of those that lay ready or, where nearly none did, of all; NAN: there are none.
 */
double turn_proof_handover(const struct turn_delivery *deliveries, size_t count);

#endif
