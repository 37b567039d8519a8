/*
 * hits_cache.c - caches that hold numbers of samples, and no samples.
 *
 *	lru, fifo	a ring of links through `next` and `prev`, whose place `samples` is
 *			no sample but the end: next of it is the newest, prev the next to go
 *	random		held[0 .. count-1], and where in it a sample is
 *	minio		nothing more than the sizes
 *	page		page_cache.h
 */
#include "loader/base/math/hits_cache.h"
#include "loader/base/math/page_cache.h"
#include "loader/base/random.h"

#include <stdlib.h>

struct hits_cache {
	enum cache_id policy;
	uint32_t samples, count;
	uint64_t capacity, bytes;
	uint64_t *size; /* of a sample that is held; 0: it is not */
	uint32_t *next, *prev;
	uint32_t *held, *where;
	struct random random;
	struct page_cache *page;
};

static bool hits_cache_has_links(enum cache_id policy)
{
	return policy == CACHE_LRU || policy == CACHE_FIFO;
}

static void hits_cache_unlink(struct hits_cache *cache, uint32_t sample)
{
	cache->next[cache->prev[sample]] = cache->next[sample];
	cache->prev[cache->next[sample]] = cache->prev[sample];
}

static void hits_cache_link(struct hits_cache *cache, uint32_t sample)
{
	uint32_t end = cache->samples, newest = cache->next[end];

	cache->next[sample] = newest;
	cache->prev[sample] = end;
	cache->prev[newest] = sample;
	cache->next[end] = sample;
}

/* Into the order of eviction, and out of it. */
static void hits_cache_enter(struct hits_cache *cache, uint32_t sample)
{
	if (hits_cache_has_links(cache->policy))
		hits_cache_link(cache, sample);
	if (cache->policy == CACHE_RANDOM) {
		cache->where[sample] = cache->count;
		cache->held[cache->count] = sample;
	}
	cache->count++;
}

static void hits_cache_leave(struct hits_cache *cache, uint32_t sample)
{
	cache->count--;
	if (hits_cache_has_links(cache->policy))
		hits_cache_unlink(cache, sample);
	if (cache->policy == CACHE_RANDOM) {
		uint32_t last = cache->held[cache->count];

		cache->held[cache->where[sample]] = last;
		cache->where[last] = cache->where[sample];
	}
}

/* False when nothing may go. */
static bool hits_cache_evict(struct hits_cache *cache)
{
	uint32_t sample;

	if (cache->policy == CACHE_MINIO)
		return false;
	sample = hits_cache_has_links(cache->policy)
			 ? cache->prev[cache->samples]
			 : cache->held[random_below(&cache->random, cache->count)];
	hits_cache_leave(cache, sample);
	cache->bytes -= cache->size[sample];
	cache->size[sample] = 0;
	return true;
}

void hits_cache_offer(struct hits_cache *cache, uint32_t sample, uint64_t bytes)
{
	if (bytes == 0)
		bytes = 1; /* that it is held must show */
	if (cache->policy == CACHE_NONE || cache->size[sample] > 0 ||
	    bytes > cache->capacity)
		return;
	while (cache->bytes > cache->capacity - bytes)
		if (!hits_cache_evict(cache))
			return;
	cache->size[sample] = bytes;
	cache->bytes += bytes;
	hits_cache_enter(cache, sample);
}

bool hits_cache_find(struct hits_cache *cache, uint32_t sample)
{
	if (cache->policy == CACHE_NONE || cache->size[sample] == 0)
		return false;
	if (cache->policy == CACHE_LRU) {
		hits_cache_unlink(cache, sample);
		hits_cache_link(cache, sample);
	}
	return true;
}

bool hits_cache_read(struct hits_cache *cache, uint32_t sample, uint64_t bytes)
{
	if (cache->policy == CACHE_PAGE)
		return page_cache_read(cache->page, sample, bytes);
	if (hits_cache_find(cache, sample))
		return true;
	hits_cache_offer(cache, sample, bytes);
	return false;
}

void hits_cache_free(struct hits_cache *cache)
{
	if (cache == NULL)
		return;
	page_cache_free(cache->page);
	free(cache->size);
	free(cache->next);
	free(cache->prev);
	free(cache->held);
	free(cache->where);
	free(cache);
}

static bool hits_cache_new_pair(size_t count, uint32_t **one, uint32_t **other)
{
	*one = calloc(count, sizeof(**one));
	*other = calloc(count, sizeof(**other));
	return *one != NULL && *other != NULL;
}

static bool hits_cache_allocate(struct hits_cache *cache)
{
	size_t count = (size_t)cache->samples + 1;

	if (cache->policy == CACHE_PAGE) {
		cache->page = page_cache_new(cache->samples, cache->capacity);
		return cache->page != NULL;
	}
	cache->size = calloc(count, sizeof(*cache->size));
	if (cache->size == NULL)
		return false;
	if (hits_cache_has_links(cache->policy))
		return hits_cache_new_pair(count, &cache->next, &cache->prev);
	if (cache->policy == CACHE_RANDOM)
		return hits_cache_new_pair(count, &cache->held, &cache->where);
	return true;
}

struct hits_cache *hits_cache_new(enum cache_id policy, uint32_t samples,
				  uint64_t capacity, uint64_t seed)
{
	struct hits_cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return NULL;
	cache->policy = policy;
	cache->samples = samples;
	cache->capacity = capacity;
	cache->random.state = random_seed(seed, policy, samples);
	if (!hits_cache_allocate(cache)) {
		hits_cache_free(cache);
		return NULL;
	}
	if (hits_cache_has_links(policy))
		cache->next[samples] = cache->prev[samples] = samples;
	return cache;
}
