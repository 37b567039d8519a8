/*
 * holding.h - the batches of a shared loader that a program holds. Private to
 * loader/share/.
 *
 *	slot     0       1       2     ..  prefetch
 *	      | held | copied | free |
 *	         |       '---------------- in memory of its own: of a batch that lies in two
 *	         '---- in a link's feed    feeds, or before and behind a hole
 */
#ifndef DSA_SHARE_HOLDING_H
#define DSA_SHARE_HOLDING_H

#include "loader/share/ring/feed.h"

struct link;

struct holding {
	bool taken;
	struct link *link;       /* in whose feed it lies; NULL: in `copy` */
	struct feed_batch batch; /* of that feed */
	uint32_t count;          /* samples */
	uint32_t *labels, *samples;
	unsigned char *copy; /* room for a batch; NULL: it was not needed yet */
};

struct holdings {
	uint32_t slots, batch, taken;
	size_t sample_bytes;
	struct holding *slot;
};

/* For `slots` batches of at most `batch` samples. 0 or -ENOMEM; either way to be ended
 * with holdings_fini(). */
int holdings_init(struct holdings *holdings, uint32_t slots, uint32_t batch,
		  size_t sample_bytes);
void holdings_fini(struct holdings *holdings);

/* A slot that is not taken: the one with a batch that is not complete yet, if there is
 * such a one, else an empty one; NULL: there is none. */
struct holding *holdings_free(struct holdings *holdings);

/* Appends what was taken from a link's feed to what the slot has in memory of its own,
 * and gives it back to the feed. 0, -ENOMEM or what feed_release() says. */
int holdings_copy(struct holdings *holdings, struct holding *holding, struct link *link,
		  const struct feed_batch *batch);

#endif
