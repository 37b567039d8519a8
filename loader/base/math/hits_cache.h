/* hits_cache.h - a cache that is read through in a simulation, under any policy. */
#ifndef DSA_HITS_CACHE_H
#define DSA_HITS_CACHE_H

#include "loader/base/variants.h"

#include <stdbool.h>
#include <stdint.h>

struct hits_cache;

/* Of `capacity` bytes, for samples 0 .. samples-1; seed: of what random evicts. NULL:
 * memory is short. Not for nextuse, whose law is in steady.h. */
struct hits_cache *hits_cache_new(enum cache_id policy, uint32_t samples,
				  uint64_t capacity, uint64_t seed);
void hits_cache_free(struct hits_cache *cache);

/*
 * Reads a sample of so many bytes through it: true when it was held. O(1). For page,
 * whose lists' balance depends on their size, the samples' bytes should add up to those
 * of the real data set even where there are fewer of them. page_cache.h says after how
 * many epochs it is steady; others take four.
 */
bool hits_cache_read(struct hits_cache *cache, uint32_t sample, uint64_t bytes);

/* The halves of it, for a reader that offers only later what it missed. Not page. */
bool hits_cache_find(struct hits_cache *cache, uint32_t sample);
void hits_cache_offer(struct hits_cache *cache, uint32_t sample, uint64_t bytes);

#endif
