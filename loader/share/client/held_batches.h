/*
 * held_batches.h - the batches of a shared loader that a program holds. Private to
 * loader/share/.
 *
 *	slot     0       1       2     ..  prefetch
 *	      | held | copied | free |
 *	         |       '---------------- in memory of its own: of a batch that lies in two
 *	         '---- in a ring           rings, before and behind a gap, or in a ring that a
 *	                                   device can't copy from
 */
#ifndef DSA_SHARE_HELD_BATCHES_H
#define DSA_SHARE_HELD_BATCHES_H

#include "loader/share/ring/bcast_ring.h"

struct connection;

struct held_batch {
	bool taken;
	struct connection *connection; /* in whose ring it lies; NULL: in `copy` */
	struct bcast_batch batch;      /* of that ring */
	uint32_t count;                /* samples */
	uint32_t *labels, *samples;
	unsigned char *copy; /* room for a batch; NULL: it was not needed yet */
};

struct held_batches {
	uint32_t slots, batch, taken;
	size_t sample_bytes;
	struct held_batch *slot;
	unsigned char *room; /* of all `copy`, in a row; NULL: each has its own */
};

/* For `slots` batches of at most `batch` samples. 0 or -ENOMEM; either way to be ended
 * with held_batches_fini(). */
int held_batches_init(struct held_batches *batches, uint32_t slots, uint32_t batch,
		      size_t sample_bytes);
void held_batches_fini(struct held_batches *batches);

/* Makes the room of all slots at once, slot_bytes each, for a device to copy from. 0 or
 * -ENOMEM. */
int held_batches_make_room(struct held_batches *batches, size_t slot_bytes);

/* A slot that is not taken: the one with a batch that is not complete yet, if there is
 * such a one, else an empty one; NULL: there is none. */
struct held_batch *held_batches_free(struct held_batches *batches);

/* Appends a batch of a connection's ring to what the slot has in memory of its own, and
 * releases it. 0, -ENOMEM or what bcast_release() says. */
int held_batches_copy(struct held_batches *batches, struct held_batch *held,
		      struct connection *connection, const struct bcast_batch *batch);

#endif
