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

#include "profiler/turns/turn_replay.h"

#define TURN_CLOSE .02 /* share: a replay that is farther off proves nothing */

/* Who made a batch, and when; what it took. */
struct turn_made {
	uint64_t worker; /* its process: they have their turns in the order of these */
	double begin_s;
	struct turn_batch batch;
	size_t round, rank; /* turn_order()'s: among its worker's, and of its worker */
};

/* Puts batches into the order in which they were given out if the first worker had the
 * first. How many workers there are. */
size_t turn_order(struct turn_made *made, size_t count);

/* The same if the next worker had it. */
void turn_order_next(struct turn_made *made, size_t count, size_t workers);

/* A real window. */
struct turn_window {
	struct turn_replay replay; /* its first step asks when no worker has a batch */
	size_t settle;             /* steps before those that are measured: */
	double wall_s, blocked_s;  /* these took, and of it waiting for a batch */
};

/* Over windows; begin with {0}. */
struct turn_sums {
	double wall, blocked;
	double as_was, cached; /* what replays wait */
	unsigned windows;      /* those that lack records are not in it */
};

/* False: it lacks records, or memory is short. */
bool turn_proof_add(struct turn_sums *sums, const struct turn_window *window,
		    double io_s_per_byte);

struct turn_proof {
	double prep, fetch; /* shares of wall time */
	double off;         /* blocked share by the replay of I/O as it was, less the
			     * real one */
	bool valid;         /* the replay is so near that the shares may be shown */
};

/* False: there is no window. */
bool turn_proof_of(const struct turn_sums *sums, struct turn_proof *proof);

/* ---- what cached windows cost ---- */

/* A batch that the trainer asked for and got. */
struct turn_delivery {
	double requested_s, made_s, delivered_s; /* by one clock */
};

/* Begin with {0}. */
struct turn_costs {
	double io_s, bytes;
	double all_s, ready_s; /* of batches: from when they were made and asked for */
	size_t all, ready; /* and of those that were made when they were asked for */
	double pickup_s;   /* of batches: from when a worker could begin them */
	size_t pickups;
};

void turn_costs_read(struct turn_costs *costs, const struct turn_batch *batch);
void turn_costs_deliver(struct turn_costs *costs, const struct turn_delivery *delivery);

/* Seconds a byte that they took to read; 0: they read nothing. */
double turn_costs_io(const struct turn_costs *costs);

/*
 * How long a batch takes from when it is made and asked for until the trainer has it:
 * of those that lay ready or, where nearly none did, of all; NAN: there are none.
 */
double turn_costs_handover(const struct turn_costs *costs);

/* How long a worker takes to begin a batch that it could make; 0: where none is known. */
double turn_costs_pickup(const struct turn_costs *costs);

#endif
