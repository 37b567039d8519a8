#include "loader/base/choice.h"
#include "loader/base/math/hits_cache.h"
#include "loader/base/math/page_cache.h"
#include "loader/base/math/steady.h"
#include "loader/base/permutation.h"
#include "profiler/profile.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 4000, STRATA = 8, PAGE = 4096, PICTURE = 27 * PAGE };

/* Several readers, each with a cache and a share of every epoch's fresh shuffle. */
struct stream {
	enum cache_id policy;
	uint32_t readers;
	double x;                         /* each cache's share of the data set */
	uint64_t bytes;                   /* of a sample */
	uint32_t warm, counted, foreseen; /* epochs */
	uint64_t seed;
};

/* What one of them reads, `count` samples in all. */
static uint32_t *stream_deal(const struct stream *stream, uint32_t reader,
			     uint32_t count)
{
	uint32_t *order = calloc(SAMPLES, sizeof(*order));
	uint32_t *reads = calloc(count, sizeof(*reads));

	for (uint32_t i = 0, epoch = 0; i < count; epoch++) {
		permutation_fill(order, SAMPLES, stream->seed, epoch);
		for (uint32_t at = reader; at < SAMPLES; at += stream->readers)
			reads[i++] = order[at];
	}
	free(order);
	return reads;
}

/* By read: the next one of its sample, `count` where there is none. */
static uint32_t *stream_next(const uint32_t *reads, uint32_t count)
{
	uint32_t *next = calloc(count, sizeof(*next)), seen[SAMPLES];

	for (uint32_t i = 0; i < SAMPLES; i++)
		seen[i] = count;
	for (uint32_t i = count; i-- > 0; seen[reads[i]] = i)
		next[i] = seen[reads[i]];
	return next;
}

/* Keeps the samples whose next read is nearest (Belady, IBM Systems Journal 1966), which
 * may mean not to admit what was just read. Marks the reads that hit. */
static void replay_nextuse(const uint32_t *reads, uint32_t count, uint32_t capacity,
			   bool *hit)
{
	uint32_t *next = stream_next(reads, count), held = 0, last = 0;

	for (uint32_t i = 0; i < count; i++) {
		held -= hit[i];
		if (next[i] == count)
			continue;
		if (held == capacity && held > 0) {
			last = (uint32_t)((bool *)memrchr(hit, true, last + 1) - hit);
			if (last > next[i]) {
				hit[last] = false;
				held--;
			}
		}
		if (held < capacity) {
			hit[next[i]] = true;
			held++;
			last = next[i] > last ? next[i] : last;
		}
	}
	free(next);
}

static void replay_cache(const struct stream *stream, const uint32_t *reads,
			 uint32_t count, uint32_t reader, bool *hit)
{
	uint32_t capacity = (uint32_t)lround(stream->x * SAMPLES);
	struct hits_cache *cache =
		hits_cache_new(stream->policy, SAMPLES, capacity * stream->bytes,
			       stream->seed + reader);

	for (uint32_t i = 0; i < count; i++)
		hit[i] = hits_cache_read(cache, reads[i], stream->bytes);
	hits_cache_free(cache);
}

/* Hits / reads, of all readers. */
static double stream_replay(const struct stream *stream)
{
	uint32_t each = SAMPLES / stream->readers, hits = 0;
	uint32_t from = stream->warm * each, to = from + stream->counted * each;
	uint32_t count = to + stream->foreseen * each;

	for (uint32_t reader = 0; reader < stream->readers; reader++) {
		uint32_t *reads = stream_deal(stream, reader, count);
		bool *hit = calloc(count, sizeof(*hit));

		if (stream->policy == CACHE_NEXTUSE)
			replay_nextuse(reads, count,
				       (uint32_t)lround(stream->x * SAMPLES), hit);
		else
			replay_cache(stream, reads, to, reader, hit);
		for (uint32_t i = from; i < to; i++)
			hits += hit[i];
		free(reads);
		free(hit);
	}
	return (double)hits / (stream->counted * SAMPLES);
}

/* A reader comes back to a sample after `readers` epochs in the mean. */
static double replay(enum cache_id policy, uint32_t readers, double x, uint64_t seed)
{
	return stream_replay(&(struct stream){
		.policy = policy,
		.readers = readers,
		.x = x,
		.bytes = PICTURE,
		.warm = 8 * readers,
		.counted = 16,
		.foreseen = policy == CACHE_NEXTUSE ? 8 * readers : 0,
		.seed = seed,
	});
}

TEST(names_and_policies_agree)
{
	for (int i = 0; i < CACHE_IDS; i++)
		assert_int_equal(choice_find(CACHE_POLICY_NAMES, profile_caches[i]), i);
	assert_int_equal(choice_find(CACHE_POLICY_NAMES, "arc"), -1);
}

TEST(closed_forms_match_replay)
{
	static const enum cache_id policies[] = {CACHE_NONE,   CACHE_MINIO,
						 CACHE_LRU,    CACHE_FIFO,
						 CACHE_RANDOM, CACHE_NEXTUSE};

	for (int i = 0; i < 6; i++)
		for (double x = .1; x < 1; x += .1) {
			double all = replay(policies[i], 1, x, 7);

			assert_true(fabs(all - steady_mean(policies[i], x, 0)) < .005);
		}
}

/* Hits of each stratum of the epoch's positions. */
static void strata(enum cache_id policy, double x, double ratio[STRATA])
{
	struct hits_cache *cache =
		hits_cache_new(policy, SAMPLES, (uint64_t)(x * SAMPLES), 3);
	uint32_t *order = calloc(SAMPLES, sizeof(*order));
	enum { WARM = 8, EPOCHS = 24 };

	for (int epoch = 0; epoch < WARM + EPOCHS; epoch++) {
		permutation_fill(order, SAMPLES, 3, (uint64_t)epoch);
		for (int i = 0; i < SAMPLES; i++) {
			bool hit = hits_cache_read(cache, order[i], 1);

			if (hit && epoch >= WARM)
				ratio[i * STRATA / SAMPLES] +=
					(double)STRATA / SAMPLES / EPOCHS;
		}
	}
	free(order);
	hits_cache_free(cache);
}

TEST(positions_match_replay)
{
	static const enum cache_id policies[] = {CACHE_MINIO, CACHE_LRU, CACHE_FIFO,
						 CACHE_RANDOM};
	static const double shares[] = {.3, .6, .9};
	enum { N = 200 };

	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 3; j++) {
			double ratio[STRATA] = {0}, fine[STRATA * N];

			strata(policies[i], shares[j], ratio);
			steady_over(policies[i], shares[j], 0, fine, STRATA * N);
			for (int k = 0; k < STRATA; k++) {
				double mean = 0;

				for (int n = 0; n < N; n++)
					mean += fine[k * N + n] / N;
				assert_true(fabs(mean - ratio[k]) < .02);
			}
		}
}

TEST(the_future_known_never_beats_minio_for_one_reader)
{
	for (double x = .05; x < 1; x += .05)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			double minio = replay(CACHE_MINIO, 1, x, seed);

			assert_true(replay(CACHE_NEXTUSE, 1, x, seed) <= minio);
			assert_true(replay(CACHE_NEXTUSE, 1, x, seed) > minio - .001);
		}
}

TEST(the_future_known_beats_minio_for_several_readers)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		assert_true(fabs(replay(CACHE_MINIO, 2, .25, seed) - .25) < .006);
		assert_true(fabs(replay(CACHE_NEXTUSE, 2, .25, seed) - .50) < .01);
		assert_true(fabs(replay(CACHE_MINIO, 4, .25, seed) - .25) < .006);
		assert_true(fabs(replay(CACHE_NEXTUSE, 4, .25, seed) - .55) < .015);
	}
}

/*
 * NoPFS (SC 2021), section 3: one of N = 16 nodes reads a sample in each of E = 90
 * epochs with chance 1/N, so of 1,281,167 samples about 31,635 more than ten times.
 */
TEST(readers_meet_samples_as_often_as_dice_say)
{
	enum { N = 16, E = 90, OFTEN = 10, FEW = 40000 };
	uint32_t *order = calloc(FEW, sizeof(*order));
	uint8_t *met = calloc(FEW, 1);
	double chance = pow(1 - 1. / N, E), beyond = 1 - chance;
	int often = 0;

	for (int k = 1; k <= OFTEN; k++) {
		chance *= (E - k + 1.) / k / (N - 1);
		beyond -= chance;
	}
	assert_true(fabs(beyond * 1281167 - 31635) < 20);
	for (int epoch = 0; epoch < E; epoch++) {
		permutation_fill(order, FEW, 1, (uint64_t)epoch);
		for (int i = 0; i < FEW; i += N)
			met[order[i]]++;
	}
	for (int i = 0; i < FEW; i++)
		often += met[i] > OFTEN;
	assert_true(fabs(often - beyond * FEW) < 4 * sqrt(beyond * FEW));
	free(order);
	free(met);
}

TEST(samples_of_any_size_fit_or_make_room)
{
	static const enum cache_id policies[] = {CACHE_PAGE, CACHE_MINIO, CACHE_LRU,
						 CACHE_FIFO, CACHE_RANDOM};

	for (int i = 0; i < 5; i++) {
		struct hits_cache *cache =
			hits_cache_new(policies[i], 4, 100 * PAGE, 1);

		assert_false(hits_cache_read(cache, 0, 60 * PAGE));
		assert_true(hits_cache_read(cache, 0, 60 * PAGE));
		assert_false(
			hits_cache_read(cache, 1, 100 * PAGE + 1)); /* never fits */
		assert_false(hits_cache_read(cache, 1, 100 * PAGE + 1));
		assert_true(
			hits_cache_read(cache, 0, 60 * PAGE)); /* nothing has gone */
		assert_false(hits_cache_read(cache, 2, 50 * PAGE));
		assert_int_equal(hits_cache_read(cache, 0, 60 * PAGE),
				 policies[i] == CACHE_MINIO);
		assert_false(hits_cache_read(cache, 3, 0));
		hits_cache_free(cache);
	}
}

TEST(lru_and_fifo_differ_in_what_a_hit_does)
{
	struct hits_cache *lru = hits_cache_new(CACHE_LRU, 4, 2, 1);
	struct hits_cache *fifo = hits_cache_new(CACHE_FIFO, 4, 2, 1);
	static const uint32_t reads[] = {0, 1, 0, 2};

	for (int i = 0; i < 4; i++)
		assert_true(hits_cache_read(lru, reads[i], 1) ==
			    hits_cache_read(fifo, reads[i], 1));
	assert_true(hits_cache_read(lru, 0, 1));
	assert_false(hits_cache_read(fifo, 0, 1));
	hits_cache_free(lru);
	hits_cache_free(fifo);
}

/* A read, of a cluster of pages; whether it hit. */
static bool touch(struct hits_cache *cache, uint32_t sample)
{
	return hits_cache_read(cache, sample, 32 * PAGE);
}

TEST(page_keeps_what_was_read_twice)
{
	static const enum cache_id policies[] = {CACHE_PAGE, CACHE_LRU};

	for (int i = 0; i < 2; i++) {
		struct hits_cache *cache =
			hits_cache_new(policies[i], 24, 320 * PAGE, 0);

		for (uint32_t sample = 0; sample < 10; sample++)
			assert_false(touch(cache, sample));
		assert_true(touch(cache, 0));
		for (uint32_t sample = 10; sample < 24; sample++)
			assert_false(touch(cache, sample));
		assert_int_equal(touch(cache, 0), policies[i] == CACHE_PAGE);
		hits_cache_free(cache);
	}
}

/* Read twice, 0 and 1 are active; 2, gone and come back after two others, gets there at
 * once and is spared too. 3 comes back too late for that. */
TEST(page_keeps_what_comes_back_soon)
{
	struct hits_cache *cache = hits_cache_new(CACHE_PAGE, 40, 256 * PAGE, 0);

	for (uint32_t sample = 0; sample < 8; sample++)
		assert_false(touch(cache, sample));
	assert_true(touch(cache, 0));
	assert_true(touch(cache, 1));
	assert_false(touch(cache, 8)); /* 2 goes */
	assert_false(touch(cache, 2)); /* 3 goes */
	for (uint32_t sample = 9; sample < 20; sample++)
		assert_false(touch(cache, sample));
	assert_true(touch(cache, 2));
	assert_false(touch(cache, 3));
	for (uint32_t sample = 20; sample < 32; sample++)
		assert_false(touch(cache, sample));
	assert_false(touch(cache, 3));
	hits_cache_free(cache);
}

TEST(page_positions_make_up_its_mean)
{
	double hit[STRATA], sum = 0;

	assert_int_equal(steady_over(CACHE_PAGE, .6, 1 << 30, hit, STRATA), 0);
	for (int i = 0; i < STRATA; i++)
		sum += hit[i] / STRATA;
	assert_true(fabs(sum - steady_mean(CACHE_PAGE, .6, 1 << 30)) < 1e-9);
	assert_true(hit[0] > .5 && hit[STRATA - 1] < .2);
	assert_true(fabs(replay(CACHE_PAGE, 1, .6, 1) -
			 steady_mean(CACHE_PAGE, .6, 1 << 28)) < .01);
}

static double page_after(double x, uint64_t sample_bytes, uint32_t epochs)
{
	return stream_replay(&(struct stream){
		.policy = CACHE_PAGE,
		.readers = 1,
		.x = x,
		.bytes = sample_bytes,
		.warm = epochs,
		.counted = 10,
		.seed = 1,
	});
}

TEST(page_is_steady_after_its_epochs)
{
	static const double shares[] = {.1, .2, .35, .5, .65, .8, .95};
	static const uint64_t sizes[] = {PICTURE, 1 << 20, 1 << 24};

	for (int i = 0; i < 7; i++)
		for (int j = 0; j < 3; j++) {
			uint32_t warm = page_cache_warm(shares[i]);
			double soon = page_after(shares[i], sizes[j], warm);
			double late = page_after(shares[i], sizes[j], warm + 20);

			assert_true(fabs(soon - late) < .01);
		}
}

TEST(a_share_is_found_from_its_hits)
{
	for (double x = .2; x < 1; x += .2) {
		for (int policy = CACHE_PAGE; policy < CACHE_IDS; policy++) {
			double mean = steady_mean(policy, x, 1 << 30);

			assert_true(fabs(steady_share(policy, mean, 1 << 30) - x) <
				    .005);
		}
	}
	assert_true(steady_mean(CACHE_PAGE, .5, UINT64_MAX / 2) > .3); /* and ends */
	assert_true(steady_share(CACHE_LRU, 1, 0) == 1);
	assert_true(steady_share(CACHE_LRU, 0, 0) < .001);
}

/* Until an allocation that is not reached no longer fails. */
TEST(memory_short_is_told)
{
	for (int policy = CACHE_PAGE; policy < CACHE_IDS; policy++) {
		struct hits_cache *cache = NULL;
		unsigned nth = 0;

		while (cache == NULL) {
			nomem_at(++nth);
			cache = hits_cache_new(policy, 10, 5 * PAGE, 1);
			nomem_at(0);
		}
		assert_true(nth > 1);
		hits_cache_free(cache);
	}
}
