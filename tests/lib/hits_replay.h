/* hits_replay.h - hits of several readers, replayed: what closed forms are tested with. */
#ifndef DSA_TESTS_HITS_REPLAY_H
#define DSA_TESTS_HITS_REPLAY_H

#include "models/cache/hits.h"

struct error;

/* Several readers, each with a share of every epoch's fresh global shuffle. */
struct hits_stream {
	enum hits_policy policy;
	uint32_t samples; /* in the data set, all of one size */
	uint32_t
		readers; /* ranks with a cache each; position p goes to rank p % readers */
	double x;        /* of each cache, of the data set */
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
