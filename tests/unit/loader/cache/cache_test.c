#include "loader/base/blob.h"
#include "loader/base/error.h"
#include "loader/base/permutation.h"
#include "loader/base/random.h"
#include "loader/cache.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 64, SIZE = 100 };

static bool offer(struct cache *cache, size_t sample, size_t size)
{
	struct blob *blob = blob_new(size, 1);
	bool admitted = cache_offer(cache, sample, blob);

	blob_put(blob);
	return admitted;
}

static bool holds(struct cache *cache, size_t sample)
{
	struct blob *blob = cache_get(cache, sample);

	blob_put(blob);
	return blob != NULL;
}

TEST(minio_admits_until_full_and_never_evicts)
{
	struct cache *cache = cache_open("minio", SAMPLES, 3 * SIZE, NULL);

	for (size_t i = 0; i < SAMPLES; i++)
		assert_int_equal(offer(cache, i, SIZE), i < 3);
	for (size_t i = 0; i < SAMPLES; i++)
		assert_int_equal(holds(cache, i), i < 3);
	cache_close(cache);
}

TEST(minio_counts_a_sample_once)
{
	struct cache *cache = cache_open("minio", SAMPLES, 2 * SIZE, NULL);

	assert_true(offer(cache, 0, SIZE));
	assert_false(offer(cache, 0, SIZE));
	assert_true(offer(cache, 1, SIZE));
	cache_close(cache);
}

TEST(lru_evicts_what_was_read_longest_ago)
{
	struct cache *cache = cache_open("lru", SAMPLES, 3 * SIZE, NULL);

	for (size_t i = 0; i < 3; i++)
		assert_true(offer(cache, i, SIZE));
	assert_true(holds(cache, 0));
	assert_true(offer(cache, 3, SIZE));
	assert_false(holds(cache, 1));
	assert_true(holds(cache, 2));
	assert_true(offer(cache, 4, SIZE));
	assert_false(holds(cache, 0));
	cache_close(cache);
}

TEST(fifo_evicts_what_was_admitted_longest_ago)
{
	struct cache *cache = cache_open("fifo", SAMPLES, 3 * SIZE, NULL);

	for (size_t i = 0; i < 3; i++)
		assert_true(offer(cache, i, SIZE));
	assert_true(holds(cache, 0));
	assert_true(offer(cache, 3, SIZE));
	assert_false(holds(cache, 0));
	assert_true(holds(cache, 1));
	cache_close(cache);
}

static void eviction_makes_room_for_a_large_sample(void **state)
{
	struct cache *cache = cache_open(*state, SAMPLES, 4 * SIZE, NULL);
	struct cache_stats stats;

	for (size_t i = 0; i < 4; i++)
		assert_true(offer(cache, i, SIZE));
	assert_true(offer(cache, 9, 3 * SIZE));
	cache_stats(cache, &stats);
	assert_int_equal(stats.resident, 2);
	assert_int_equal(stats.resident_bytes, 4 * SIZE);
	assert_true(holds(cache, 3));
	assert_true(holds(cache, 9));
	cache_close(cache);
}
TEST_OF(eviction_makes_room_for_a_large_sample, lru);
TEST_OF(eviction_makes_room_for_a_large_sample, fifo);

static void what_is_larger_than_the_cache_evicts_nothing(void **state)
{
	struct cache *cache = cache_open(*state, SAMPLES, SIZE, NULL);

	assert_true(offer(cache, 0, SIZE));
	assert_false(offer(cache, 1, SIZE + 1));
	assert_true(holds(cache, 0));
	cache_close(cache);
}
TEST_OF(what_is_larger_than_the_cache_evicts_nothing, lru);
TEST_OF(what_is_larger_than_the_cache_evicts_nothing, fifo);

TEST(none_and_page_keep_nothing)
{
	static const char *const names[] = {"none", "page"};

	for (int i = 0; i < 2; i++) {
		struct cache *cache = cache_open(names[i], SAMPLES, SIZE, NULL);
		struct cache_stats stats;

		assert_int_equal(cache_kernel(cache), i);
		assert_false(offer(cache, 0, SIZE));
		assert_false(holds(cache, 0));
		cache_stats(cache, &stats);
		assert_int_equal(stats.misses, 1);
		assert_int_equal(stats.hits + stats.resident + stats.resident_bytes, 0);
		cache_close(cache);
	}
}

/* Mean hit ratio of two epochs after a warm one: each sample once, freshly shuffled. */
static double replay(const char *policy, double share)
{
	enum { COUNT = 20000, EPOCHS = 3 };
	struct cache *cache =
		cache_open(policy, COUNT, (size_t)(share * COUNT) * SIZE, NULL);
	uint32_t *order = malloc(COUNT * sizeof(*order));
	struct cache_stats cold, stats;

	for (unsigned epoch = 0; epoch < EPOCHS; epoch++) {
		permutation_fill(order, COUNT, 7, epoch);
		for (size_t i = 0; i < COUNT; i++)
			if (!holds(cache, order[i]))
				offer(cache, order[i], SIZE);
		if (epoch == 0)
			cache_stats(cache, &cold);
	}
	cache_stats(cache, &stats);
	free(order);
	cache_close(cache);
	assert_int_equal(cold.hits, 0);
	assert_int_equal(stats.hits + stats.misses, COUNT * EPOCHS);
	return (double)(stats.hits - cold.hits) / (COUNT * (EPOCHS - 1));
}

/* x + (1-x) ln (1-x) for lru; fifo has no closed form above .632: by replay. */
TEST(hit_ratios_are_those_of_the_policies)
{
	static const struct {
		double share, lru, fifo;
	} row[] = {
		{.25, .034, .038}, {.35, .070, .081}, {.50, .153, .193},
		{.65, .283, .399}, {.80, .478, .656},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_float_equal(replay("minio", row[i].share), row[i].share, 1e-6);
		assert_float_equal(replay("lru", row[i].share), row[i].lru, .01);
		assert_float_equal(replay("fifo", row[i].share), row[i].fifo, .01);
	}
}

/* Of a read of 64 KiB: those of the second sample are most of it. */
static void what_is_kept_takes_no_more_than_its_bytes(void **state)
{
	struct cache *cache = cache_open(*state, SAMPLES, 1 << 20, NULL);
	struct blob_pool *pool = blob_pool_new(4096, 1 << 20);

	for (size_t i = 0; i < 2; i++) {
		struct blob *blob = blob_pool_take(pool, 65536), *kept;

		memset(blob->data, 7, blob->size);
		blob_cut(blob, 10, i == 0 ? SIZE : 65536 - 10);
		assert_true(cache_offer(cache, i, blob));
		kept = cache_get(cache, i);
		assert_int_equal(kept == blob, i == 1);
		assert_int_equal(kept->size, blob->size);
		assert_memory_equal(kept->data, blob->data, blob->size);
		blob_put(kept);
		blob_put(blob);
	}
	blob_pool_free(pool);
	cache_close(cache);
}
TEST_OF(what_is_kept_takes_no_more_than_its_bytes, minio);
TEST_OF(what_is_kept_takes_no_more_than_its_bytes, lru);

TEST(a_blob_outlives_its_cache)
{
	struct cache *cache = cache_open("minio", SAMPLES, SIZE, NULL);
	struct blob *blob;

	offer(cache, 7, SIZE);
	blob = cache_get(cache, 7);
	cache_close(cache);
	assert_int_equal(blob->size, SIZE);
	blob_put(blob);
}

static void a_blob_outlives_its_eviction(void **state)
{
	struct cache *cache = cache_open(*state, SAMPLES, SIZE, NULL);
	struct blob *blob;

	offer(cache, 7, SIZE);
	blob = cache_get(cache, 7);
	offer(cache, 8, SIZE);
	assert_false(holds(cache, 7));
	memset(blob->data, 1, blob->size);
	blob_put(blob);
	cache_close(cache);
}
TEST_OF(a_blob_outlives_its_eviction, lru);
TEST_OF(a_blob_outlives_its_eviction, fifo);

/* More than an entry's stock of references, so that it must be restocked twice. */
static void a_sample_can_be_held_by_very_many(void **state)
{
	enum { HOLDERS = 100000 };
	struct cache *cache = cache_open(*state, SAMPLES, SIZE, NULL);
	struct blob *blob = NULL;

	offer(cache, 7, SIZE);
	for (int i = 0; i < HOLDERS; i++)
		assert_non_null(blob = cache_get(cache, 7));
	cache_close(cache);
	assert_int_equal(blob->references, HOLDERS);
	blob_put_many(blob, HOLDERS);
}
TEST_OF(a_sample_can_be_held_by_very_many, lru);
TEST_OF(a_sample_can_be_held_by_very_many, fifo);

struct churn {
	struct cache *cache;
	uint64_t seed;
	atomic_bool *over;
	uint64_t gets, wrong;
};

/* Bytes that say which sample they are. */
static bool is_sample(const struct blob *blob, size_t sample)
{
	return blob->data[0] == sample && blob->data[blob->size - 1] == sample;
}

static void *churn(void *argument)
{
	struct churn *churn = argument;
	struct random random = {churn->seed};

	for (int i = 0; i < 20000; i++) {
		size_t sample = random_below(&random, SAMPLES);
		struct blob *blob = cache_get(churn->cache, sample);

		churn->gets++;
		if (blob == NULL) {
			blob = blob_new(1 + random_below(&random, 2 * SIZE), 1);
			memset(blob->data, (int)sample, blob->size);
			cache_offer(churn->cache, sample, blob);
		}
		churn->wrong += !is_sample(blob, sample);
		blob_put(blob);
	}
	return NULL;
}

static void *watch(void *argument)
{
	struct churn *churn = argument;
	struct cache_stats stats;

	while (!*churn->over) {
		cache_stats(churn->cache, &stats);
		churn->wrong += stats.resident_bytes > 8 * SIZE;
		churn->gets++;
	}
	return NULL;
}

/* Threads get, hold and evict the same few samples; the sanitizers look on. */
static void threads_may_get_what_others_evict(void **state)
{
	enum { THREADS = 4 };
	struct cache *cache = cache_open(*state, SAMPLES, 8 * SIZE, NULL);
	atomic_bool over = false;
	struct churn job[THREADS + 1] = {0};
	pthread_t thread[THREADS + 1];
	struct cache_stats stats;
	uint64_t gets = 0;

	for (unsigned i = 0; i <= THREADS; i++) {
		job[i] = (struct churn){.cache = cache, .seed = i, .over = &over};
		pthread_create(&thread[i], NULL, i < THREADS ? churn : watch, &job[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(job[i].wrong, 0);
		gets += job[i].gets;
	}
	over = true;
	pthread_join(thread[THREADS], NULL);
	assert_int_equal(job[THREADS].wrong, 0);
	cache_stats(cache, &stats);
	assert_int_equal(stats.hits + stats.misses, gets);
	assert_true(stats.hits > 0);
	cache_close(cache);
}
TEST_OF(threads_may_get_what_others_evict, lru);
TEST_OF(threads_may_get_what_others_evict, fifo);

static void *offer_all(void *cache)
{
	for (size_t i = 0; i < SAMPLES; i++)
		offer(cache, i, SIZE);
	return NULL;
}

TEST(minio_stays_within_capacity_under_many_threads)
{
	struct cache *cache = cache_open("minio", SAMPLES, SAMPLES / 2 * SIZE, NULL);
	pthread_t thread[8];
	size_t held = 0;

	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, offer_all, cache);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < SAMPLES; i++)
		held += holds(cache, i);
	assert_true(held <= SAMPLES / 2);
	cache_close(cache);
}

TEST(an_unknown_policy_is_named)
{
	struct error err = {0};

	assert_null(cache_open("belady", SAMPLES, SIZE, &err));
	assert_int_equal(err.code, EINVAL);
	assert_string_equal(err.message, "no cache policy is called 'belady': none, "
					 "page, minio, lru and fifo are");
}

static unsigned failures_until_open(const char *policy)
{
	struct cache *cache = NULL;
	unsigned failures = 0;

	while (cache == NULL) {
		struct error err = {0};

		nomem_at(failures + 1);
		cache = cache_open(policy, SAMPLES, SIZE, &err);
		assert_int_equal(err.code, cache == NULL ? ENOMEM : 0);
		failures += cache == NULL;
	}
	nomem_at(0);
	cache_close(cache);
	return failures;
}

TEST(cache_open_says_so_when_memory_runs_out)
{
	assert_int_equal(failures_until_open("none"), 1);
	assert_int_equal(failures_until_open("minio"), 2);
	assert_int_equal(failures_until_open("fifo"), 3);
	assert_int_equal(failures_until_open("lru"), 5);
}
