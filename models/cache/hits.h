/*
 * hits.h - replays of several readers' streams through caches.
 *
 * The streams of training: every sample once an epoch, in a fresh uniform order. Closed
 * forms for one reader, in the steady state: loader/base/math/steady.h; minio is the
 * cache that never evicts (CoorDL, VLDB 2021), which nobody beats there, even with the
 * future known.
 */
#ifndef DSA_HITS_H
#define DSA_HITS_H

#include "loader/base/permutation.h"
#include "loader/base/variants.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

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
	struct permutation_blocks blocks; /* how it is shuffled; all 0: at once */
};

struct hits_ratio {
	double all;           /* hits / reads */
	double local, remote; /* partitioned: in the reader's own cache, in another's */
};

/* Replays the seeded stream. 0; -EINVAL (err) or -ENOMEM. */
int hits_replay(const struct hits_stream *stream, struct hits_ratio *ratio,
		struct error *err);

#endif
