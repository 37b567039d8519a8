/*
 * turn_replay.h - how long a training loop waits for a loader whose workers make whole
 * batches in turn, as it was or had I/O taken as long as from memory.
 *
 * The rules are those of torch.utils.data.DataLoader (_MultiProcessingDataLoaderIter):
 *
 *	batch i -> worker i mod W reads and prepares it after its last one -> the
 *	trainer asks, takes the batches in order, and has each handed over -> another
 *	one is given out -> the step computes
 *
 * W x prefetch batches are given out at the start, when no worker has any: so does an
 * epoch begin, and a window. Without workers the trainer makes the batch that it asks
 * for. Pure functions.
 */
#ifndef DSA_TURN_REPLAY_H
#define DSA_TURN_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TURN_WORKERS = 1024, TURN_PREFETCH = 1024 };

/* What a batch took that was made. */
struct turn_batch {
	double made_s;  /* all of it */
	double io_s;    /* of this, opening and reading data */
	uint64_t bytes; /* that came of it */
};

struct turn_replay {
	const struct turn_batch
		*batches; /* in the order in which they were given out */
	size_t batch_count;
	const double *compute_s; /* of each step: from delivery to the next request */
	size_t steps;
	unsigned workers;  /* 0: the trainer makes them; at most TURN_WORKERS */
	unsigned prefetch; /* of a worker: 1 .. TURN_PREFETCH */
	bool any_order; /* whichever is ready first; a new one goes to the next worker
			 * in turn that has less than `prefetch` (in_order=False) */
	double handover_s; /* of a batch that lies ready, in the trainer */
	double pickup_s; /* from when a worker is free and has a batch to make until it
			  * begins */
};

/*
 * Seconds that steps `from` .. steps-1 wait, hand-over included, when a byte takes
 * io_s_per_byte to read; NAN: when I/O takes what it did. -1: memory is short, or the
 * batch of one of the steps is missing.
 */
double turn_replay_wait(const struct turn_replay *replay, double io_s_per_byte,
			size_t from);

#endif
