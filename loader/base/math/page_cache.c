/*
 * page_cache.c - two lists, inactive and active, as in Linux 6.18 (mm/swap.c,
 * mm/vmscan.c, mm/workingset.c; not the multi-generation LRU).
 *
 *	          folio_mark_accessed(): first read     second read
 *	miss -----------------------> [ inactive ] -----------------> [ active ]
 *	   \                           |        ^                      ^     |
 *	    \ workingset_refault()     |        `--- shrink_active_list() --´
 *	     `-------------------------|-----------------------------´
 *	                               v shrink_inactive_list()
 *	                              gone, with the age at which it went
 *
 * A read marks: the first sets `referenced`, the next moves a sample to active and
 * clears it. Age is the bytes that were evicted or activated so far. What comes back
 * after no more of it than the active list is long would have been a hit without that
 * list, so it goes there at once.
 *
 * When the limit is met, a cluster of pages is freed from the end of inactive. As much
 * of each list is scanned as its length is to the other's, but no more than a cluster
 * at a time, so that large lists are scanned alike (get_scan_count(), shrink_lruvec());
 * the scan of active moves its end to inactive, if active is too long: longer than
 * inactive by more than inactive_is_low() allows, which grows with the memory.
 *
 * Samples that come back to active would let reclaim shorten it too
 * (prepare_scan_control()); but reclaim sees their count only when a group's statistics
 * are flushed, every two seconds, and once: one cluster in hundreds, left out here.
 */
#include "loader/base/math/page_cache.h"

#include <math.h>
#include <stdlib.h>

enum { INACTIVE, ACTIVE, LISTS };

enum {
	PAGE = 4096,
	CLUSTER = 32 * PAGE, /* SWAP_CLUSTER_MAX: freed at a time */
	PRIORITY = 12,       /* DEF_PRIORITY: the first scan is list >> 12 */
};

struct entry {
	uint32_t next, prev; /* in its list, when it is held */
	uint64_t bytes;
	uint64_t went; /* age when it was evicted */
	bool held, active, referenced, shadow;
};

/* The places `samples` and up are the ends of the lists: next is the newest. */
struct page_cache {
	uint32_t samples;
	uint64_t capacity;
	uint64_t bytes[LISTS];
	int64_t due[LISTS]; /* bytes still to be scanned; below 0: scanned in advance */
	uint64_t age;       /* bytes evicted or activated */
	struct entry entry[];
};

static void page_cache_take(struct page_cache *cache, uint32_t sample)
{
	struct entry *entry = &cache->entry[sample];

	cache->entry[entry->prev].next = entry->next;
	cache->entry[entry->next].prev = entry->prev;
	cache->bytes[entry->active] -= entry->bytes;
}

static void page_cache_put(struct page_cache *cache, uint32_t sample, bool active)
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

static void mark_accessed(struct page_cache *cache, uint32_t sample)
{
	struct entry *entry = &cache->entry[sample];

	if (!entry->referenced) {
		entry->referenced = true;
	} else if (!entry->active) {
		page_cache_take(cache, sample);
		page_cache_put(cache, sample, true);
		entry->referenced = false;
		cache->age += entry->bytes;
	}
}

static void page_cache_evict(struct page_cache *cache, uint32_t sample)
{
	struct entry *entry = &cache->entry[sample];

	entry->held = entry->referenced = false;
	entry->shadow = true;
	entry->went = cache->age;
	cache->age += entry->bytes;
}

static uint64_t page_cache_held(const struct page_cache *cache)
{
	return cache->bytes[INACTIVE] + cache->bytes[ACTIVE];
}

/* inactive_is_low(): 1 below 1 GiB, then the square root of ten times the GiB. */
static bool inactive_is_low(const struct page_cache *cache)
{
	uint64_t gib = page_cache_held(cache) >> 30;
	uint64_t ratio = gib > 0 ? (uint64_t)sqrt(10. * (double)gib) : 1;

	return cache->bytes[INACTIVE] * ratio < cache->bytes[ACTIVE];
}

static uint64_t page_cache_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* shrink_list(): so many bytes from the end of a list, give or take a sample, for which
 * the next call makes up. */
static void page_cache_shrink(struct page_cache *cache, int list, uint64_t bytes)
{
	uint32_t end = cache->samples + (uint32_t)list;

	cache->due[list] += (int64_t)bytes;
	while (cache->due[list] > 0 && cache->bytes[list] > 0) {
		uint32_t oldest = cache->entry[end].prev;

		cache->due[list] -= (int64_t)cache->entry[oldest].bytes;
		page_cache_take(cache, oldest);
		if (list == ACTIVE)
			page_cache_put(cache, oldest, false);
		else
			page_cache_evict(cache, oldest);
	}
}

/* shrink_lruvec(): one pass, which stops early when enough is freed; `times` in one. */
static uint64_t page_cache_scan(struct page_cache *cache, int priority, uint64_t freed,
				uint64_t times)
{
	uint64_t left[LISTS];
	bool moves = inactive_is_low(cache);

	for (int list = 0; list < LISTS; list++)
		left[list] = priority > 0
				     ? (cache->bytes[list] / PAGE >> priority) * PAGE
				     : cache->bytes[list];
	while (left[INACTIVE] + left[ACTIVE] > 0 && freed < CLUSTER) {
		uint64_t inactive = page_cache_least(left[INACTIVE], CLUSTER);
		uint64_t active = page_cache_least(left[ACTIVE], CLUSTER);

		page_cache_shrink(cache, INACTIVE, inactive * times);
		if (moves)
			page_cache_shrink(cache, ACTIVE, active * times);
		left[INACTIVE] -= inactive;
		left[ACTIVE] -= active;
		freed += inactive;
	}
	return freed;
}

/* try_to_free_mem_cgroup_pages() until so much is free. Of many clusters each would do
 * the same, for a sample is little beside the lists: so they are freed in one. */
static void page_cache_reclaim(struct page_cache *cache, uint64_t bytes)
{
	uint64_t freed = 0, times = (bytes + CLUSTER - 1) / CLUSTER;

	for (int priority = PRIORITY; freed < CLUSTER && priority >= 0; priority--)
		freed = page_cache_scan(cache, priority, freed, times);
}

static void page_cache_add(struct page_cache *cache, uint32_t sample, uint64_t bytes)
{
	struct entry *entry = &cache->entry[sample];
	bool back = entry->shadow && cache->age - entry->went <= cache->bytes[ACTIVE];

	entry->bytes = bytes;
	entry->held = true;
	page_cache_put(cache, sample, back);
	if (back)
		cache->age += bytes;
	mark_accessed(cache, sample);
}

bool page_cache_read(struct page_cache *cache, uint32_t sample, uint64_t bytes)
{
	uint64_t room;

	if (cache->entry[sample].held) {
		mark_accessed(cache, sample);
		return true;
	}
	if (bytes == 0 || bytes > cache->capacity)
		return false;
	room = cache->capacity - bytes;
	while (page_cache_held(cache) > room)
		page_cache_reclaim(cache, page_cache_held(cache) - room);
	page_cache_add(cache, sample, bytes);
	return false;
}

/* Active grows by what comes back soon: the less is cached, the more slowly. Replays of
 * all sizes and shares from .1 on have settled then. */
unsigned page_cache_warm(double x)
{
	return 4 + (unsigned)fmin(16, 1 / x);
}

struct page_cache *page_cache_new(uint32_t samples, uint64_t capacity)
{
	struct page_cache *cache =
		calloc(1, sizeof(*cache) +
				  ((size_t)samples + LISTS) * sizeof(cache->entry[0]));

	if (cache == NULL)
		return NULL;
	cache->samples = samples;
	cache->capacity = page_cache_least(capacity, UINT64_C(1) << 62); /* sums fit */
	for (uint32_t end = samples; end < samples + LISTS; end++)
		cache->entry[end].next = cache->entry[end].prev = end;
	return cache;
}

void page_cache_free(struct page_cache *cache)
{
	free(cache);
}
