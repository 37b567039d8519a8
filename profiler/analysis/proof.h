/*
 * proof.h - the stalls once more, from other evidence: time blocked in dsa_next().
 *
 * What a real window's steps were blocked is split by replaying its samples with fetch
 * set to zero and prep as fast as in cached windows, where no reads take cores and caches
 * from it: the wait that vanishes is fetch, the rest prep. Where sample records are
 * missing, what cached windows were blocked is prep. A program that works while it asks
 * (asynchronous compute) makes this an upper bound.
 *
 * A loader that the program brought is replayed by its own rules (profiler/turns/),
 * with I/O as in cached windows; where that replay does not give what real windows were
 * blocked, or where batches read by what is no call, there is no evidence. Without cached
 * windows I/O takes what memory does. Where a thread of the program reads ahead into a queue,
 * what training waits for that in cached windows is prep.
 */
#ifndef DSA_PROOF_H
#define DSA_PROOF_H

#include "profiler/session/window.h"
#include "profiler/stage.h"

struct proof {
	double share[STAGES]; /* of wall time, of what stalls; NAN: no evidence */
	double fetch_half; /* of fetch's interval, by what windows differ in; NAN: unknown */
	char basis[160];
	double handover_s; /* of a batch of the program's own loader; NAN: unknown */
};

/* Only windows that shares_uses() and, with `observed`, real ones without a block. */
void proof_measure(const struct window *windows, size_t count, bool observed,
		   struct proof *proof);

#endif
