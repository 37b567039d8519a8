/*
 * shared_epoch.h - the order in which a shared loader reads its data set for many jobs.
 *
 * Jobs begin anywhere. A job that begins in the middle of an epoch begins at the
 * running position and wraps round (circular join): its epoch is the rest of this one
 * and then what went before it. So that all jobs go on sharing every sample, the data
 * set is cut in two there: each part is shuffled in itself, anew each time, and the
 * parts follow one another for ever.
 *
 *	first job   |-------- epoch 0 ---------|-------- epoch 1 ---------|--
 *	second job            |-------- epoch 0 ---------|-------- epoch 1 -
 *	passes      |    A    |       B        |    A'   |       B'       |  A''
 *	          entry 0   entry 1          entry 0   entry 1
 *
 * A and A' hold the same samples in another order. Each job's first epoch is a rotation
 * of a uniform permutation, so a uniform one itself; but samples of A and B are not
 * mixed while a job begins at the entry point between them. When the last job of an
 * entry point left, the parts beside it become one at the next pass that begins there.
 * With one part, pass e is the permutation of epoch e that a loader of its own has
 * (sampler.h), and with more it is that permutation, of each part those that are in it.
 *
 * All calls with the pipeline's lock held.
 */
#ifndef DSA_SHARED_EPOCH_H
#define DSA_SHARED_EPOCH_H

#include "loader/base/permutation.h"
#include "loader/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct shared_epoch;

struct shared_epoch_config {
	uint32_t count; /* samples in the data set */
	uint64_t seed;
	bool in_order;
	struct permutation_blocks blocks; /* else */
	uint64_t end_epoch; /* rounds, then the data ends; UINT64_MAX: no end */
};

/* Entry points at a time; passes that are kept, the newest included, and at least two
 * data sets of positions and so many more. */
enum {
	SHARED_EPOCH_ENTRIES = 64,
	SHARED_EPOCH_PASSES = 512,
	SHARED_EPOCH_AHEAD = 1 << 20
};

struct shared_epoch *shared_epoch_open(const struct shared_epoch_config *config,
				       struct error *err);
struct plan *
shared_epoch_plan(struct shared_epoch *shared); /* freed by shared_epoch_close() */
void shared_epoch_close(struct shared_epoch *shared);

/*
 * A job begins at this position of a pass, beyond which all are taken back; the pass
 * ends there, unless position is 0 or its end (then the job begins with the next pass).
 * What was asked for from there on was thrown away; the pass's positions keep their
 * samples. Returns the number of the entry point, of which the job is an owner now;
 * -EBUSY: there are SHARED_EPOCH_ENTRIES; -EINVAL: no job can begin there, or a pass
 * beyond stays.
 */
int shared_epoch_enter(struct shared_epoch *shared, uint64_t pass, uint32_t position);

/* One more job, or one job less, that begins at an entry point that has an owner. */
void shared_epoch_ref(struct shared_epoch *shared, unsigned entry);
void shared_epoch_put(struct shared_epoch *shared, unsigned entry);

/* The pass in which an entry point began last, or that is to begin with it. UINT64_MAX:
 * it is to come, in a pass that nobody asked for yet. */
uint64_t shared_epoch_began(const struct shared_epoch *shared, unsigned entry);

/* The entry point at which a pass begins, as it was then; -1: it was not asked for yet,
 * or is not kept any more. */
int shared_epoch_entry_of(struct shared_epoch *shared, uint64_t pass);

/* Parts that the data set is in at the moment. */
unsigned shared_epoch_parts(const struct shared_epoch *shared);

#endif
