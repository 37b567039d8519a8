/* block_fetch.c - goes through the samples one by one, with the fetches under way. */
#include "models/cache/block_fetch.h"
#include "loader/base/error.h"
#include "loader/base/math/hits_cache.h"
#include "loader/base/permutation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fetch of the samples from `first` to `end` of the epoch. */
struct block {
	double due_s; /* of what all fetches do alike, when it begins to get samples or,
		       * where it has begun, has them */
	double transfer_s;
	uint32_t first, end;
};

struct block_replay {
	const struct block_fetch *config;
	struct hits_cache *held;
	uint32_t *order, asked; /* of the epoch's samples */
	struct block *blocks;   /* under way: first those that have begun */
	uint32_t begun, block_count;
	double begins_s, transfers_s; /* what each fetch that begins has done since the
				       * epoch began, and each that gets samples */
	double next_s;                /* the least due_s of those that have begun */
	uint32_t fetches; /* of the epoch; and the samples that they ask for */
	uint64_t fetched;
};

static uint32_t block_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void block_ask(struct block_replay *replay)
{
	const struct block_fetch *config = replay->config;
	struct block *block = &replay->blocks[replay->block_count++];
	uint32_t missing = 0;

	block->first = replay->asked;
	block->end = block_least(config->shard - replay->asked, config->fetch) +
		     replay->asked;
	for (uint32_t i = block->first; i < block->end; i++)
		missing += !hits_cache_find(replay->held, replay->order[i]);
	block->due_s = replay->begins_s + config->begin_s;
	block->transfer_s = missing / config->fetch_per_s;
	replay->asked = block->end;
	replay->fetches++;
	replay->fetched += missing;
}

static void block_arrive(struct block_replay *replay, uint32_t at)
{
	struct block *block = &replay->blocks[at];

	for (uint32_t i = block->first; i < block->end; i++)
		hits_cache_offer(replay->held, replay->order[i], 1);
	replay->begun--;
	memmove(block, block + 1, (--replay->block_count - at) * sizeof(*block));
}

/* How fast each of the fetches begins, and each of those that have begun gets samples. */
struct block_speed {
	double begin, transfer;
};

static struct block_speed block_speed_of(const struct block_replay *replay)
{
	const struct block_fetch *config = replay->config;
	double others = replay->block_count - 1.;
	double turns = config->begin_s > 0 ? config->turn_s / config->begin_s : 0;

	return (struct block_speed){1 / (1 + turns * others),
				    1 / fmax(1, replay->begun)};
}

/* Until the next of them begins to get samples, or has them all. */
static double block_next(const struct block_replay *replay,
			 const struct block_speed *speed)
{
	double next = (replay->next_s - replay->transfers_s) / speed->transfer;

	if (replay->begun < replay->block_count)
		next = fmin(next,
			    (replay->blocks[replay->begun].due_s - replay->begins_s) /
				    speed->begin);
	return fmax(0, next);
}

/* What is due. All take as long to begin, and do so in turn. */
static void block_advance(struct block_replay *replay)
{
	static const double least = 1e-9; /* below it is the arithmetic's */

	while (replay->begun < replay->block_count &&
	       replay->blocks[replay->begun].due_s < replay->begins_s + least) {
		struct block *block = &replay->blocks[replay->begun++];

		block->due_s = replay->transfers_s + block->transfer_s;
	}
	replay->next_s = INFINITY;
	for (uint32_t i = 0; i < replay->begun;)
		if (replay->blocks[i].due_s < replay->transfers_s + least)
			block_arrive(replay, i);
		else
			replay->next_s =
				fmin(replay->next_s, replay->blocks[i++].due_s);
}

static void block_pass(struct block_replay *replay, double seconds)
{
	while (seconds > 0 && replay->block_count > 0) {
		struct block_speed speed = block_speed_of(replay);
		double next = block_next(replay, &speed), step = fmin(seconds, next);

		replay->begins_s += step * speed.begin;
		replay->transfers_s += step * speed.transfer;
		if (next <= seconds)
			block_advance(replay);
		seconds -= step;
	}
}

/* What is under way when an epoch ends is of no use to the next. */
static void block_epoch_run(struct block_replay *replay, uint32_t number,
			    struct block_epoch *epoch)
{
	const struct block_fetch *config = replay->config;
	uint32_t misses = 0;

	permutation_fill(replay->order, config->total, config->seed, number);
	replay->asked = replay->begun = replay->block_count = replay->fetches = 0;
	replay->begins_s = replay->transfers_s = 0;
	replay->next_s = INFINITY;
	replay->fetched = 0;
	for (uint32_t i = 0; i < config->shard; i++) {
		uint32_t wanted = i - i % config->batch + config->batch;
		bool miss;

		wanted = block_least(config->shard, wanted + config->threshold);
		while (config->fetch > 0 && replay->asked < wanted)
			block_ask(replay);
		miss = !hits_cache_read(replay->held, replay->order[i], 1);
		misses += miss;
		block_pass(replay, miss ? config->miss_s : config->hit_s);
		if ((i + 1) % config->batch == 0)
			block_pass(replay, config->batch * config->compute_s);
	}
	epoch->miss_ratio = (double)misses / config->shard;
	epoch->load_s =
		misses * config->miss_s + (config->shard - misses) * config->hit_s;
	epoch->run_s = epoch->load_s + config->shard * config->compute_s;
	epoch->fetches = replay->fetches;
	epoch->gets = replay->fetched + misses;
}

static int block_fetch_check(const struct block_fetch *config, struct error *err)
{
	if (config->shard == 0 || config->shard > config->total || config->batch == 0)
		return error_set(err, EINVAL,
				 "a replay needs a batch, and a shard of the data set");
	if (config->shard > UINT32_MAX / 4 || config->batch > UINT32_MAX / 4 ||
	    config->threshold > UINT32_MAX / 4)
		return error_set(err, EINVAL, "%u samples are too many to replay",
				 config->shard);
	if (config->fetch > 0 &&
	    !(config->fetch_per_s > 0 && config->begin_s >= 0 && config->turn_s >= 0))
		return error_set(err, EINVAL, "a fetch takes time, and gives samples");
	return 0;
}

int block_fetch_replay(const struct block_fetch *config, struct block_epoch *epochs,
		       struct error *err)
{
	struct block_replay replay = {.config = config};
	int result = block_fetch_check(config, err);

	if (result < 0)
		return result;
	replay.held = hits_cache_new(CACHE_FIFO, config->total, config->capacity,
				     config->seed);
	replay.order = calloc(config->total, sizeof(*replay.order));
	replay.blocks =
		calloc(config->fetch > 0 ? config->shard / config->fetch + 1 : 1,
		       sizeof(*replay.blocks));
	if (replay.held == NULL || replay.order == NULL || replay.blocks == NULL)
		result = error_sys(err, ENOMEM, "cannot replay %u samples",
				   config->total);
	for (uint32_t i = 0; result == 0 && i < config->epochs; i++)
		block_epoch_run(&replay, i, &epochs[i]);
	hits_cache_free(replay.held);
	free(replay.order);
	free(replay.blocks);
	return result;
}
