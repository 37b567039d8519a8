/*
 * intake.h - the stream of a simulation: batches of samples, and which are hits.
 *
 * The stream of an epoch is cut into `steps` batches; batch number b is step b % steps
 * of epoch b / steps. Slots go round: batch b lies in slot b % ahead, its places at
 * slot * batch and after. As in the loader the cache is asked when a batch is opened,
 * and is offered what was missed when the loader's slot of it is opened again; the
 * kernel's cache keeps it at once.
 */
#ifndef DSA_SIMULATION_INTAKE_H
#define DSA_SIMULATION_INTAKE_H

#include "loader/base/math/hits_cache.h"
#include "models/simulation/simulation.h"

struct intake_place {
	uint32_t sample;
	bool hit;
};

struct intake_batch {
	uint64_t number;
	uint32_t count; /* samples */
	uint32_t hits;
	uint32_t done; /* prepared; the simulation counts */
};

struct intake {
	const struct simulation_load *load;
	uint32_t dataset; /* samples in an epoch: the load's, or scaled down */
	uint32_t batch;   /* places of a slot */
	uint32_t steps;   /* batches in an epoch */
	uint32_t ahead;   /* slots */
	uint32_t late_by; /* batches after which what one missed is offered */
	uint64_t seed;
	bool all_hits;
	enum cache_id policy;
	bool late; /* what was missed is offered when the slot is opened again */
	struct hits_cache *cache;     /* NULL: no sample is ever held */
	bool borrowed;                /* it is another one's */
	uint32_t *order;              /* of the epoch */
	struct intake_place *places;  /* ahead x batch */
	struct intake_batch *batches; /* ahead */
	uint64_t opened;              /* batches so far */
};

/* Zeroed storage. For a load that was checked. 0 or -ENOMEM; intake_fini() in any case.
 */
int intake_init(struct intake *intake, const struct simulation_load *load,
		uint64_t samples);
void intake_fini(struct intake *intake);

/*
 * The same for a further job beside that of `first`, which outlives it: the kernel's
 * cache is one for both, and they read in one order; else both are its own. Where that
 * holds all samples the order is no matter: in one order jobs whose reads take no time
 * would take equally long for each batch, and for ever meet on the cores.
 */
int intake_init_beside(struct intake *intake, const struct intake *first,
		       uint64_t samples, uint32_t job);

/* Batches to open before the cache is in its steady state, up to `before` batches
 * before an epoch. */
uint64_t intake_warm(const struct intake *intake, uint64_t before);

/* Opens the next batch and returns its slot, which must be free. */
uint32_t intake_next(struct intake *intake);

static inline const struct profile_draw *intake_draw(const struct intake *intake,
						     uint32_t place)
{
	uint64_t at = (uint64_t)intake->places[place].sample * intake->load->draw_count;

	return &intake->load->draws[at / intake->dataset];
}

#endif
