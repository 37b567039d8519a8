/*
 * replay.h - how long a training loop would have waited had fetch taken no time.
 *
 * A discrete replay of the loader's pipeline from what each sample's prep took, or would
 * have taken beside no reads:
 *
 *	samples in stream order -> the first of k workers to be free -> batch, done with
 *	its last sample -> delivered in order -> the step computes -> asks again, slot
 *	is free
 *
 * A batch is opened when fewer than `slots` are open or held. Pure functions.
 */
#ifndef DSA_REPLAY_H
#define DSA_REPLAY_H

#include "loader/base/trace.h"

#include <stdbool.h>
#include <stddef.h>

enum { REPLAY_WORKERS = 1024 };

struct replay {
	const struct trace_sample *samples; /* in stream order; batch counts from 0 */
	size_t sample_count;
	const double *compute_s; /* of each step: from delivery to the next request */
	const bool *pauses;      /* each step that is one: its wait is left out; NULL */
	size_t steps;
	unsigned workers; /* 1 .. REPLAY_WORKERS */
	unsigned slots;   /* batches open at once, the one being computed too; >= 1 */
	double prep;      /* what prep takes without fetch, of what it took; > 0 */
};

/*
 * Seconds that steps `from` .. steps-1 wait for their batch. -1 when memory is short or
 * the samples of one of the steps are missing.
 */
double replay_wait(const struct replay *replay, size_t from);

#endif
