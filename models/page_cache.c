/*
 * page_cache.c - two lists, inactive and active, as in Linux 6 (mm/swap.c, mm/vmscan.c,
 * mm/workingset.c; without the multi-generation LRU).
 *
 *	               first read      second read: folio_mark_accessed()
 *	        miss -> [ inactive ] -----------------> [ active ]
 *	                 | ^                              |
 *	                 | '------------------------------' shrink_active_list()
 *	                 v shrink_inactive_list()
 *	               gone, with the age at which it went: workingset_eviction()
 *
 * A read marks: the first sets `referenced`, the next moves to active and clears it.
 * Age is the bytes that were evicted or activated so far. What comes back after no
 * more of it than the active list is long would have been a hit without that list, so
 * it goes to active at once: workingset_refault().
 *
 * Reclaim takes from the end of inactive. It also moves the end of active over, by the
 * same share of the list (get_scan_count()), if active is the longer one
 * (inactive_is_low(), up to 1 GiB) or anything came back to active since the last
 * reclaim (prepare_scan_control()).
 */
#include "models/page_cache.h"

#include <stdlib.h>

enum { INACTIVE, ACTIVE, LISTS };

struct entry {
	uint32_t next, prev;
	uint64_t bytes; /* when it is held */
	uint64_t went;  /* age when it was evicted */
	bool held, active, referenced, shadow;
};

/* The places `samples` and up are the ends of the lists: next is the newest. */
struct page_cache {
	uint32_t samples;
	uint64_t capacity;
	uint64_t bytes[LISTS];
	uint64_t age;
	uint64_t returns, returns_seen; /* to active; at the last reclaim */
	double due;                     /* bytes of active to be moved over */
	struct entry entry[];
};

static void take(struct page_cache *cache, uint32_t sample)
{
	struct entry *entry = &cache->entry[sample];

	cache->entry[entry->prev].next = entry->next;
	cache->entry[entry->next].prev = entry->prev;
	cache->bytes[entry->active] -= entry->bytes;
}

static void put(struct page_cache *cache, uint32_t sample, bool active)
{
	uint32_t end = cache->samples + active, newest = cache->entry[end].next;
	struct entry *entry = &cache->entry[sample];

	entry->active = active;
	entry->next = newest;
	entry->prev = end;
	cache->entry[newest].prev = sample;
	cache->entry[end].next = sample;
	cache->bytes[active] += entry->bytes;
}

static void activate(struct page_cache *cache, uint32_t sample)
{
	take(cache, sample);
	put(cache, sample, true);
	cache->entry[sample].referenced = false;
	cache->age += cache->entry[sample].bytes;
}

static void mark_accessed(struct page_cache *cache, uint32_t sample)
{
	struct entry *entry = &cache->entry[sample];

	if (!entry->referenced)
		entry->referenced = true;
	else if (!entry->active)
		activate(cache, sample);
}

/* Moves the oldest of active over; false when there is none. */
static bool deactivate(struct page_cache *cache)
{
	uint32_t end = cache->samples + ACTIVE, oldest = cache->entry[end].prev;

	if (oldest == end)
		return false;
	take(cache, oldest);
	put(cache, oldest, false);
	return true;
}

static void evict(struct page_cache *cache, uint32_t sample)
{
	struct entry *entry = &cache->entry[sample];

	take(cache, sample);
	entry->held = false;
	entry->referenced = false;
	entry->shadow = true;
	entry->went = cache->age;
	cache->age += entry->bytes;
}

static bool may_deactivate(const struct page_cache *cache)
{
	return cache->returns != cache->returns_seen ||
	       cache->bytes[INACTIVE] < cache->bytes[ACTIVE];
}

static void shrink_active(struct page_cache *cache, double bytes)
{
	cache->due += bytes;
	while (cache->due > 0 && cache->bytes[ACTIVE] > 0) {
		uint64_t before = cache->bytes[ACTIVE];

		deactivate(cache);
		cache->due -= (double)(before - cache->bytes[ACTIVE]);
	}
}

static bool reclaim(struct page_cache *cache)
{
	uint32_t end = cache->samples + INACTIVE, oldest;
	double ratio;

	if (cache->bytes[INACTIVE] == 0 && !deactivate(cache))
		return false;
	oldest = cache->entry[end].prev;
	ratio = (double)cache->bytes[ACTIVE] / (double)cache->bytes[INACTIVE];
	if (may_deactivate(cache))
		shrink_active(cache, ratio * (double)cache->entry[oldest].bytes);
	cache->returns_seen = cache->returns;
	evict(cache, oldest);
	return true;
}

static void add(struct page_cache *cache, uint32_t sample, uint64_t bytes)
{
	struct entry *entry = &cache->entry[sample];
	bool back = entry->shadow && cache->age - entry->went <= cache->bytes[ACTIVE];

	entry->bytes = bytes;
	entry->held = true;
	put(cache, sample, back);
	if (back) {
		cache->age += bytes;
		cache->returns++;
	}
	mark_accessed(cache, sample);
}

bool page_cache_read(struct page_cache *cache, uint32_t sample, uint64_t bytes)
{
	if (cache->entry[sample].held) {
		mark_accessed(cache, sample);
		return true;
	}
	if (bytes == 0 || bytes > cache->capacity)
		return false;
	while (cache->bytes[INACTIVE] + cache->bytes[ACTIVE] > cache->capacity - bytes)
		if (!reclaim(cache))
			return false;
	add(cache, sample, bytes);
	return false;
}

struct page_cache *page_cache_new(uint32_t samples, uint64_t capacity)
{
	struct page_cache *cache =
		calloc(1, sizeof(*cache) +
				  ((size_t)samples + LISTS) * sizeof(cache->entry[0]));

	if (cache == NULL)
		return NULL;
	cache->samples = samples;
	cache->capacity = capacity;
	for (uint32_t end = samples; end < samples + LISTS; end++)
		cache->entry[end].next = cache->entry[end].prev = end;
	return cache;
}

void page_cache_free(struct page_cache *cache)
{
	free(cache);
}
