/*
 * hits.h - caches that are read through in a simulation, and replays of their streams.
 *
 * The streams of training: every sample once an epoch, in a fresh uniform order. Closed
 * forms for one reader, in the steady state: loader/base/math/steady.h; minio is the
 * cache that never evicts (CoorDL, VLDB 2021), which nobody beats there, even with the
 * future known.
 */
#ifndef DSA_HITS_H
#define DSA_HITS_H

#include "loader/base/variants.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

/* A cache of `capacity` bytes that is read through, in a simulation. */
struct hits_cache;

/* Samples are 0 .. samples-1. NULL: memory is short. nextuse needs hits_replay(). */
struct hits_cache *hits_cache_new(enum cache_id policy, uint32_t samples,
				  uint64_t capacity, uint64_t seed);
void hits_cache_free(struct hits_cache *cache);

/*
 * Reads a sample of so many bytes through it: true when it was held. O(1). For page,
 * whose lists' balance depends on their size, the samples' bytes should add up to those
 * of the real data set even where there are less of them. page_cache.h says after how
 * many epochs it is steady; others take four.
 */
bool hits_cache_read(struct hits_cache *cache, uint32_t sample, uint64_t bytes);

/* The halves of it, for a reader that offers only later what it missed. Not page. */
bool hits_cache_find(struct hits_cache *cache, uint32_t sample);
void hits_cache_offer(struct hits_cache *cache, uint32_t sample, uint64_t bytes);

/* Several readers, each with a share of every epoch's fresh global shuffle. */
struct hits_stream {
	enum cache_id policy;
	uint32_t samples;      /* in the data set, all of one size */
	uint32_t readers;      /* ranks with a cache each; position p is p % readers' */
	double x;              /* each cache's share of the data set */
	uint64_t sample_bytes; /* matters to page alone */
	bool partitioned; /* a sample held by any rank is a hit for all; each sample has
			   * one home (CoorDL) */
	uint32_t warm, epochs; /* epochs before counting, and counted */
	uint64_t seed;
};

struct hits_ratio {
	double all;           /* hits / reads */
	double local, remote; /* partitioned: in the reader's own cache, in another's */
};

/* Replays the seeded stream. 0; -EINVAL (err) or -ENOMEM. */
int hits_replay(const struct hits_stream *stream, struct hits_ratio *ratio,
		struct error *err);

#endif
