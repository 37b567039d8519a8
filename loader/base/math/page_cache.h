/*
 * page_cache.h - the kernel's page cache under a memory limit, in a simulation.
 *
 * Its two lists and what moves a sample between them; see page_cache.c. A sample is
 * read whole, by one read of its file, unmapped and clean. A caller who wants files to
 * take whole pages rounds their bytes up.
 */
#ifndef DSA_PAGE_CACHE_H
#define DSA_PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct page_cache;

/* Of at most `capacity` bytes. NULL: memory is short. */
struct page_cache *page_cache_new(uint32_t samples, uint64_t capacity);
void page_cache_free(struct page_cache *cache);

/* Epochs of training until a cache of the share x of its data is steady, 0 < x. */
unsigned page_cache_warm(double x);

/* True when it was held. A miss leaves it held, if it is no larger than the cache. */
bool page_cache_read(struct page_cache *cache, uint32_t sample, uint64_t bytes);

#endif
