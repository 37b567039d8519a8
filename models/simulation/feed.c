/* feed.c - the stream of a simulation. */
#include "models/simulation/feed.h"
#include "loader/base/page_cache.h"
#include "loader/base/permutation.h"

#include <errno.h>
#include <stdlib.h>

enum {
	SMALL = 1 << 14, /* samples: a data set whose edges need not be told apart */
	LARGE = 1 << 16, /* and whose hits over the epoch are a smooth curve */
	WARM = 4,        /* epochs until fifo and random are steady */
};

/* Samples in an epoch, at the most. The kernel's cache takes many epochs to be steady,
 * so what is asked for is several of a smaller set. */
static uint64_t most_samples(const struct feed *feed, uint64_t samples)
{
	bool uniform = feed->policy == HITS_NONE || feed->policy == HITS_MINIO;
	uint64_t least = uniform ? SMALL : LARGE;

	return feed->policy == HITS_PAGE || samples < least ? least : samples;
}

/*
 * A data set too large to go through is scaled down: hits depend on the cache's share
 * of it, and of a whole epoch all draws are used alike. Whole batches, since one short
 * one in so many does not count.
 */
static void set_size(struct feed *feed, uint64_t samples)
{
	const struct simulation_load *load = feed->load;
	uint64_t most = most_samples(feed, samples);

	feed->dataset = load->dataset;
	feed->batch = load->batch < load->dataset ? load->batch : load->dataset;
	if (feed->dataset > most) {
		feed->late = false; /* a few batches of so many */
		feed->dataset = (uint32_t)(most / feed->batch * feed->batch);
		if (feed->dataset == 0)
			feed->dataset = feed->batch;
	}
	feed->steps = (feed->dataset - 1) / feed->batch + 1;
}

static uint64_t bytes_of(const struct feed *feed, uint32_t sample)
{
	uint64_t at = (uint64_t)sample * feed->load->draw_count;

	return feed->load->draws[at / feed->dataset].bytes;
}

/* As the cache sees them: of a data set scaled down they add up to those of it all. */
static uint64_t scaled_bytes(const struct feed *feed, uint32_t sample)
{
	return bytes_of(feed, sample) * feed->load->dataset / feed->dataset;
}

static int make_cache(struct feed *feed)
{
	const struct simulation_load *load = feed->load;
	double bytes = 0;

	if (feed->policy == HITS_NONE)
		return 0;
	for (uint32_t i = 0; i < feed->dataset; i++)
		bytes += (double)scaled_bytes(feed, i);
	feed->cache = hits_cache_new(feed->policy, feed->dataset,
				     (uint64_t)(load->share * bytes), load->seed);
	return feed->cache != NULL ? 0 : -ENOMEM;
}

int feed_init(struct feed *feed, const struct simulation_load *load, uint64_t samples)
{
	feed->load = load;
	feed->ahead = load->ahead;
	feed->all_hits = load->all_hits || load->loaded;
	feed->policy = HITS_NONE;
	if (load->share > 0 && !feed->all_hits && !load->no_prep)
		feed->policy = (enum hits_policy)hits_policy(load->policy);
	if (feed->policy == HITS_NEXTUSE)
		feed->policy = HITS_MINIO;
	feed->late = feed->policy != HITS_PAGE;
	set_size(feed, samples);
	feed->order = calloc(feed->dataset, sizeof(*feed->order));
	feed->places = calloc((size_t)feed->ahead * feed->batch, sizeof(*feed->places));
	feed->batches = calloc(feed->ahead, sizeof(*feed->batches));
	if (feed->order == NULL || feed->places == NULL || feed->batches == NULL)
		return -ENOMEM;
	return make_cache(feed);
}

void feed_fini(struct feed *feed)
{
	hits_cache_free(feed->cache);
	free(feed->order);
	free(feed->places);
	free(feed->batches);
}

static bool ask(struct feed *feed, uint32_t sample)
{
	if (feed->cache == NULL)
		return feed->all_hits;
	return feed->late ? hits_cache_find(feed->cache, sample)
			  : hits_cache_read(feed->cache, sample,
					    scaled_bytes(feed, sample));
}

/* Offers what the slot's last batch missed. */
static void retire(struct feed *feed, uint32_t slot)
{
	const struct feed_place *places = feed->places + (size_t)slot * feed->batch;

	if (feed->cache == NULL || !feed->late)
		return;
	for (uint32_t i = 0; i < feed->batches[slot].count; i++)
		if (!places[i].hit)
			hits_cache_offer(feed->cache, places[i].sample,
					 scaled_bytes(feed, places[i].sample));
}

uint32_t feed_next(struct feed *feed)
{
	uint64_t number = feed->opened++;
	uint32_t slot = (uint32_t)(number % feed->ahead);
	uint32_t first = (uint32_t)(number % feed->steps) * feed->batch;
	uint32_t left = feed->dataset - first;
	struct feed_place *places = feed->places + (size_t)slot * feed->batch;
	struct feed_batch *batch = &feed->batches[slot];

	if (first == 0)
		permutation_fill(feed->order, feed->dataset, feed->load->seed,
				 number / feed->steps);
	retire(feed, slot);
	batch->number = number;
	batch->count = left < feed->batch ? left : feed->batch;
	batch->hits = batch->done = 0;
	for (uint32_t i = 0; i < batch->count; i++) {
		places[i].sample = feed->order[first + i];
		places[i].hit = ask(feed, places[i].sample);
		batch->hits += places[i].hit;
	}
	return slot;
}

static uint64_t warm_epochs(const struct feed *feed)
{
	switch (feed->policy) {
	case HITS_MINIO:
		return 1;
	case HITS_LRU:
		return 2;
	case HITS_PAGE:
		return page_cache_warm(feed->load->share);
	default:
		return WARM;
	}
}

void feed_warm(struct feed *feed, uint64_t before)
{
	uint64_t epochs = before / feed->steps + 1;

	if (feed->cache != NULL)
		epochs += warm_epochs(feed);
	while (feed->opened < epochs * feed->steps - before)
		feed_next(feed);
}
