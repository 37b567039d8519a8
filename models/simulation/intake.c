/* intake.c - opens batches of the simulated stream, and asks the cache. */
#include "models/simulation/intake.h"
#include "loader/base/math/page_cache.h"

#include <errno.h>
#include <stdlib.h>

enum {
	SMALL = 1 << 14, /* samples: a data set whose edges need not be kept apart */
	LARGE = 1 << 16, /* and whose hits over the epoch are a smooth curve */
	WARM = 4,        /* epochs until fifo and random are steady */
};

/* Samples in an epoch, at the most. The kernel's cache takes many epochs to be steady,
 * so what is asked for is several of a smaller set. */
static uint64_t most_samples(const struct intake *intake, uint64_t samples)
{
	bool uniform = intake->policy == CACHE_NONE || intake->policy == CACHE_MINIO;
	uint64_t least = uniform ? SMALL : LARGE;

	return intake->policy == CACHE_PAGE || samples < least ? least : samples;
}

/*
 * A data set too large to go through is scaled down: hits depend on the cache's share
 * of it, and of a whole epoch all draws are used alike. Whole batches, since one short
 * one in so many does not count.
 */
static void intake_set_size(struct intake *intake, uint64_t samples)
{
	const struct simulation_load *load = intake->load;
	uint64_t most = most_samples(intake, samples);

	intake->dataset = load->dataset;
	intake->batch = load->batch < load->dataset ? load->batch : load->dataset;
	if (intake->dataset > most) {
		intake->late = false; /* a few batches of so many */
		intake->dataset = (uint32_t)(most / intake->batch * intake->batch);
		if (intake->dataset == 0)
			intake->dataset = intake->batch;
	}
	intake->steps = (intake->dataset - 1) / intake->batch + 1;
}

/* As the cache sees them: of a data set scaled down they add up to those of it all. */
static uint64_t scaled_bytes(const struct intake *intake, uint32_t sample)
{
	uint64_t at = (uint64_t)sample * intake->load->draw_count;

	return intake->load->draws[at / intake->dataset].bytes * intake->load->dataset /
	       intake->dataset;
}

static int intake_make_cache(struct intake *intake)
{
	const struct simulation_load *load = intake->load;
	double bytes = 0;

	if (intake->policy == CACHE_NONE)
		return 0;
	for (uint32_t i = 0; i < intake->dataset; i++)
		bytes += (double)scaled_bytes(intake, i);
	intake->cache = hits_cache_new(intake->policy, intake->dataset,
				       (uint64_t)(load->share * bytes), intake->seed);
	return intake->cache != NULL ? 0 : -ENOMEM;
}

/* All but the cache. */
static int intake_prepare(struct intake *intake, const struct simulation_load *load,
			  uint64_t samples)
{
	intake->load = load;
	intake->seed = load->seed;
	intake->ahead = load->shared ? load->window : load->ahead;
	intake->late_by = load->ahead;
	intake->all_hits = load->all_hits || load->loaded;
	intake->policy = CACHE_NONE;
	if (load->share > 0 && !intake->all_hits && !load->no_prep)
		intake->policy = load->policy;
	if (intake->policy == CACHE_NEXTUSE)
		intake->policy = CACHE_MINIO;
	intake->late = intake->policy != CACHE_PAGE;
	intake_set_size(intake, samples);
	intake->order = calloc(intake->dataset, sizeof(*intake->order));
	intake->places =
		calloc((size_t)intake->ahead * intake->batch, sizeof(*intake->places));
	intake->batches = calloc(intake->ahead, sizeof(*intake->batches));
	return intake->order != NULL && intake->places != NULL &&
			       intake->batches != NULL
		       ? 0
		       : -ENOMEM;
}

int intake_init(struct intake *intake, const struct simulation_load *load,
		uint64_t samples)
{
	int result = intake_prepare(intake, load, samples);

	return result < 0 ? result : intake_make_cache(intake);
}

int intake_init_beside(struct intake *intake, const struct intake *first,
		       uint64_t samples, uint32_t job)
{
	int result = intake_prepare(intake, first->load, samples);

	if (result < 0)
		return result;
	if (intake->policy == CACHE_PAGE && first->load->share < 1) {
		intake->cache = first->cache;
		intake->borrowed = true;
		return 0;
	}
	intake->seed += job;
	return intake_make_cache(intake);
}

void intake_fini(struct intake *intake)
{
	if (!intake->borrowed)
		hits_cache_free(intake->cache);
	free(intake->order);
	free(intake->places);
	free(intake->batches);
}

static bool intake_ask(struct intake *intake, uint32_t sample)
{
	if (intake->cache == NULL)
		return intake->all_hits;
	return intake->late ? hits_cache_find(intake->cache, sample)
			    : hits_cache_read(intake->cache, sample,
					      scaled_bytes(intake, sample));
}

/* Offers what that batch missed, before the one `late_by` after it is opened. */
static void intake_retire(struct intake *intake, uint64_t number)
{
	uint32_t slot =
		(uint32_t)((number + intake->ahead - intake->late_by) % intake->ahead);
	const struct intake_place *places =
		intake->places + (size_t)slot * intake->batch;

	if (intake->cache == NULL || !intake->late)
		return;
	for (uint32_t i = 0; i < intake->batches[slot].count; i++)
		if (!places[i].hit)
			hits_cache_offer(intake->cache, places[i].sample,
					 scaled_bytes(intake, places[i].sample));
}

/* As many runs and windows of a data set that is scaled down. */
static struct permutation_blocks intake_blocks(const struct intake *intake)
{
	struct permutation_blocks blocks = intake->load->blocks;
	uint32_t runs = blocks.run > 0 ? blocks.window / blocks.run : 0;

	if (blocks.run == 0 || intake->dataset == intake->load->dataset)
		return blocks;
	blocks.run = (uint32_t)((uint64_t)blocks.run * intake->dataset /
				intake->load->dataset);
	blocks.run += blocks.run == 0;
	blocks.window = blocks.run * runs;
	return blocks;
}

uint32_t intake_next(struct intake *intake)
{
	uint64_t number = intake->opened++;
	uint32_t slot = (uint32_t)(number % intake->ahead);
	uint32_t first = (uint32_t)(number % intake->steps) * intake->batch;
	uint32_t left = intake->dataset - first;
	struct intake_place *places = intake->places + (size_t)slot * intake->batch;
	struct intake_batch *batch = &intake->batches[slot];

	if (first == 0)
		permutation_draw(intake->order, intake->dataset, intake_blocks(intake),
				 intake->seed, number / intake->steps);
	intake_retire(intake, number);
	batch->number = number;
	batch->count = left < intake->batch ? left : intake->batch;
	batch->hits = batch->done = 0;
	for (uint32_t i = 0; i < batch->count; i++) {
		places[i].sample = intake->order[first + i];
		places[i].hit = intake_ask(intake, places[i].sample);
		batch->hits += places[i].hit;
	}
	return slot;
}

static uint64_t warm_epochs(const struct intake *intake)
{
	switch (intake->policy) {
	case CACHE_MINIO:
		return 1;
	case CACHE_LRU:
		return 2;
	case CACHE_PAGE:
		return page_cache_warm(intake->load->share);
	default:
		return WARM;
	}
}

uint64_t intake_warm(const struct intake *intake, uint64_t before)
{
	uint64_t epochs = before / intake->steps + 1;

	if (intake->cache != NULL)
		epochs += warm_epochs(intake);
	return epochs * intake->steps - before;
}
