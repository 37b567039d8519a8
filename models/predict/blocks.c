/* blocks.c - gives the replay what a simulation would be given. */
#include "loader/base/error.h"
#include "models/cache/block_fetch.h"
#include "models/predict/model_state.h"
#include "models/predict/rates.h"
#include "models/predict/sharing.h"

#include <errno.h>
#include <math.h>

enum {
	SAMPLES_MOST = 1 << 24, /* of a data set */
	STEPS = 4096,           /* samples simulated to know a step */
	EPOCHS = 2              /* the last is what comes of it */
};

/* What else asks for other loaders, caches or storage. */
static bool blocks_alone(const struct profile_change *change)
{
	return isnan(change->cache_share) &&
	       !profile_word_known(&change->cache_policy) && change->workers == 0 &&
	       change->jobs == 0 && !change->share && !change->libdsa;
}

int blocks_check(const struct profile *profile, const struct profile_change *change,
		 struct error *err)
{
	if (change->block_fetch == 0)
		return 0;
	if (!profile_change_has_bucket(change))
		return sharing_refuse(err, "blocks are fetched from a bucket: give "
					   "storage-bucket, too");
	if (!blocks_alone(change))
		return sharing_refuse(err,
				      "who fetches in blocks has a cache of its own, "
				      "and neither workers nor jobs beside it");
	if (profile->job_count > 1)
		return error_set(err, ENODATA,
				 "fetching in blocks is predicted of one job alone");
	if (profile->dataset_samples == UNKNOWN)
		return error_set(err, ENODATA,
				 "how many samples the data set has is not known");
	if (profile->dataset_samples > SAMPLES_MOST)
		return error_set(err, ENODATA,
				 "a data set of more than %d samples is too many to "
				 "replay",
				 SAMPLES_MOST);
	return 0;
}

double blocks_held(const struct profile *profile, const struct profile_change *change)
{
	return change->block_capacity == 0
		       ? 1
		       : fmin(1, change->block_capacity /
					 (double)profile->dataset_samples);
}

/* What a sample takes to prepare, where one thread does that and no other works. */
static double blocks_prep_s(const struct simulation_load *load)
{
	struct simulation_load one = *load;
	struct rates rates;

	one.workers = 1;
	one.jobs = 0;
	rates_of(&one, &rates);
	return 1 / rates.prep;
}

static double blocks_bytes(const struct simulation_load *load)
{
	double bytes = 0;

	for (size_t i = 0; i < load->draw_count; i++)
		bytes += (double)load->draws[i].bytes / (double)load->draw_count;
	return bytes;
}

/* Samples a second of requests in flight, as fast as what is narrowest lets them. */
static double blocks_per_s(const struct simulation_load *load)
{
	double per_s = load->depth / load->answer_s;

	per_s = fmin(per_s, load->bandwidth / blocks_bytes(load));
	per_s = fmin(per_s, 1 / load->fetch_cpu_s);
	return load->answer_rate > 0 ? fmin(per_s, load->answer_rate) : per_s;
}

/* A step that waits for nothing. */
static int blocks_step(const struct simulation_load *load,
		       struct simulation_outcome *outcome, struct error *err)
{
	struct simulation_load step = *load;

	step.no_prep = true;
	step.all_hits = false;
	return simulate(&step, STEPS, outcome, err);
}

static void blocks_describe(const struct simulation_load *load,
			    const struct profile_change *change, double compute_s,
			    struct block_fetch *blocks)
{
	unsigned capacity = change->block_capacity;
	double listing_s = ceil(load->dataset / (double)MODEL_LISTED) * load->answer_s;

	*blocks = (struct block_fetch){
		.total = load->dataset,
		.shard = load->dataset,
		.batch = load->batch,
		.fetch = change->block_fetch,
		.threshold = change->block_threshold,
		.capacity = capacity > 0 && capacity < load->dataset ? capacity
								     : load->dataset,
		.begin_s = listing_s,
		.turn_s = listing_s,
		.fetch_per_s = blocks_per_s(load),
		.hit_s = blocks_prep_s(load),
		.compute_s = compute_s,
		.epochs = EPOCHS,
		.seed = load->seed,
	};
	blocks->miss_s = blocks->hit_s + load->answer_s + load->fetch_cpu_s +
			 blocks_bytes(load) / load->bandwidth;
}

/* *outcome: of a step that waits for nothing. */
static int blocks_epoch(const struct simulation_load *load,
			const struct profile_change *change,
			struct simulation_outcome *outcome, struct block_fetch *blocks,
			struct block_epoch *epoch, struct error *err)
{
	struct block_epoch epochs[EPOCHS];
	int result = blocks_step(load, outcome, err);

	if (result == 0) {
		blocks_describe(load, change, 1 / outcome->per_s, blocks);
		result = block_fetch_replay(blocks, epochs, err);
	}
	if (result == 0)
		*epoch = epochs[EPOCHS - 1];
	return result;
}

int blocks_rate(const struct sim_setup *setup, const struct profile_change *change,
		bool cached, struct simulation_outcome *outcome, struct error *err)
{
	struct block_fetch blocks = {0};
	struct block_epoch epoch = {0};
	double load_s;
	int result = blocks_epoch(&setup->load, change, outcome, &blocks, &epoch, err);

	if (result < 0)
		return result;
	load_s = cached ? blocks.hit_s : epoch.load_s / blocks.shard;
	outcome->per_s = outcome->job_per_s[0] = outcome->prep_per_s =
		1 / (load_s + blocks.compute_s);
	outcome->blocked = load_s * outcome->per_s;
	outcome->prep_busy = blocks.hit_s * outcome->per_s;
	outcome->hit_ratio = cached ? 1 : 1 - epoch.miss_ratio;
	return 0;
}

int blocks_traffic(const struct sim_setup *setup, const struct profile_change *change,
		   struct profile_traffic *traffic, struct error *err)
{
	struct simulation_outcome step;
	struct block_fetch blocks = {0};
	struct block_epoch epoch = {0};
	int result = blocks_epoch(&setup->load, change, &step, &blocks, &epoch, err);

	if (result < 0)
		return result;
	*traffic = (struct profile_traffic){
		.reads = (double)epoch.gets,
		.listing = epoch.fetches * ceil(blocks.total / (double)MODEL_LISTED),
		.out_bytes =
			(double)epoch.gets * blocks_bytes(&setup->load) * setup->stored,
	};
	return 0;
}
