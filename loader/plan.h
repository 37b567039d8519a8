/*
 * plan.h - the stream of samples as the pipeline reads it: passes of positions.
 *
 *	pass 0        pass 1        pass 2
 *	|0 1 2 .. L0-1|0 1 2 .. L1-1|0 1 ..        global position = first + position
 *
 * A batch never crosses the end of a pass, and a place whose sample can't be used is
 * filled from the same pass alone. A loader of its own has one pass an epoch; the
 * shared loader begins a pass wherever the epoch of some job begins, and may cut a pass
 * short that is under way, at or after the position that pipeline_lock() last reported:
 * the next pass then begins at that global position. A variant is one table of
 * operations. All calls are made with the pipeline's lock held, or before it has
 * threads; passes are asked for in rising order, but for those that are still open or
 * delivered last.
 */
#ifndef DSA_PLAN_H
#define DSA_PLAN_H

#include <stdint.h>

struct error;
struct plan;
struct sampler_config;

struct plan_pass {
	uint64_t first;  /* global position of its position 0 */
	uint32_t length; /* positions; 0: the data ends before it */
	uint32_t spare;  /* further positions, in no batch: they only fill holes */
	uint64_t epoch;  /* for draws of crop and flip, and batches */
};

struct plan_ops {
	void (*pass)(struct plan *plan, uint64_t pass, struct plan_pass *out);

	/* The sample at a position of a pass, position < its length + spare. */
	uint32_t (*sample)(struct plan *plan, uint64_t pass, uint32_t position);

	/* Who the sample at a position is for: a bit for each reader of the shared loader
	 * (loader/share/ring/bcast_ring.h). NULL: for all. Where it is not NULL no hole
	 * is filled: a sample moved there would be one place too few for some readers,
	 * and one too many for others. */
	uint64_t (*readers)(struct plan *plan, uint64_t pass, uint32_t position);

	/* NULL: the plan has an owner that ends it. */
	void (*free)(struct plan *plan);
};

/* The first member of every plan. */
struct plan {
	const struct plan_ops *ops;
};

static inline void plan_pass(struct plan *plan, uint64_t pass, struct plan_pass *out)
{
	*out = (struct plan_pass){0};
	plan->ops->pass(plan, pass, out);
}

static inline uint32_t plan_sample(struct plan *plan, uint64_t pass, uint32_t position)
{
	return plan->ops->sample(plan, pass, position);
}

/* The plan of a loader of its own: pass = epoch, in the sampler's order, cut to whole
 * batches where drop_last asks for it (batch; 0: not; what is over is spare), until
 * end_epoch. NULL: err. */
struct plan *plan_epochs(const struct sampler_config *config, uint32_t batch,
			 uint64_t end_epoch, struct error *err);

/* The rest of an epoch that began elsewhere: samples in their order. */
struct plan_rest {
	uint64_t epoch;
	const uint32_t *samples;
	uint32_t count; /* at least 1; at least a batch if there are only whole ones */
};

/* The same, but for pass rest->epoch, which is that rest. Takes its own copy of it.
 * -EBADMSG: one of its samples is not in the data set. */
struct plan *plan_after(const struct sampler_config *config, uint32_t batch,
			uint64_t end_epoch, const struct plan_rest *rest,
			struct error *err);

void plan_free(struct plan *plan); /* NULL is allowed */

#endif
