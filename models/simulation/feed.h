/*
 * feed.h - the stream of a simulation: batches of samples, and which are hits.
 *
 * The stream of an epoch is cut into `steps` batches; batch number b is step b % steps
 * of epoch b / steps. Slots go round: batch b lies in slot b % ahead, its places at
 * slot * batch and after. As in the loader the cache is asked when a batch is opened,
 * and is offered what was missed when its slot is opened again; the kernel's cache
 * keeps it at once.
 */
#ifndef DSA_SIMULATION_FEED_H
#define DSA_SIMULATION_FEED_H

#include "models/hits.h"
#include "models/simulation.h"

struct feed_place {
	uint32_t sample;
	bool hit;
};

struct feed_batch {
	uint64_t number;
	uint32_t count; /* samples */
	uint32_t hits;
	uint32_t done; /* prepared; the simulation counts */
};

struct feed {
	const struct simulation_load *load;
	uint32_t dataset; /* samples in an epoch: the load's, or scaled down */
	uint32_t batch;   /* places of a slot */
	uint32_t steps;   /* batches in an epoch */
	uint32_t ahead;   /* slots */
	bool all_hits;
	enum hits_policy policy;
	bool late; /* what was missed is offered when the slot is opened again */
	struct hits_cache *cache;   /* NULL: no sample is ever held */
	uint32_t *order;            /* of the epoch */
	struct feed_place *places;  /* ahead x batch */
	struct feed_batch *batches; /* ahead */
	uint64_t opened;            /* batches so far */
};

/* Zeroed storage. For a load that was checked. 0 or -ENOMEM; feed_fini() in any case.
 */
int feed_init(struct feed *feed, const struct simulation_load *load, uint64_t samples);
void feed_fini(struct feed *feed);

/* Brings the cache to its steady state, up to `before` batches before an epoch. */
void feed_warm(struct feed *feed, uint64_t before);

/* Opens the next batch and returns its slot, which must be free. */
uint32_t feed_next(struct feed *feed);

static inline const struct profile_draw *feed_draw(const struct feed *feed,
						   uint32_t place)
{
	uint64_t at = (uint64_t)feed->places[place].sample * feed->load->draw_count;

	return &feed->load->draws[at / feed->dataset];
}

#endif
