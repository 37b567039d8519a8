/* feeder.h - a small ring for tests: sample s is the words s * 1000 + 0, 1, 2 .., its
 * label s + 5. */
#ifndef DSA_TESTS_FEEDER_H
#define DSA_TESTS_FEEDER_H

#include "loader/share/ring/bcast_ring.h"

enum {
	FEEDER_BATCH = 8,
	FEEDER_SLOTS = 3,
	FEEDER_PLACES = 64,
	FEEDER_WORDS = 16, /* of a sample */
	FEEDER_EPOCH = 20,
	FEEDER_ROOM = 256,
};

extern const struct bcast_config feeder_config;

/* Of the last batch taken. */
extern uint32_t feeder_labels[FEEDER_ROOM], feeder_samples[FEEDER_ROOM];

/* Writes samples first, first + 1 .. into a slot that is reserved. */
void feeder_fill(struct bcast_ring *ring, uint32_t slot, uint32_t count,
		 uint32_t first);

/* Publishes samples first .. first + count - 1, then `holes` voids, from slot 0. False:
 * there is no room. */
bool feeder_put(struct bcast_ring *ring, uint32_t first, uint32_t count, uint32_t holes,
		bool repeated);

/* A reader that begins at `start`, with FEEDER_EPOCH places an epoch. number: its slot's;
 * NULL is allowed. */
struct bcast_reader *feeder_join(struct bcast_ring *ring, uint64_t start, bool audit,
				 uint32_t *number);

/* Fails the test unless the batch holds feeder_samples[]. */
void feeder_check(const struct bcast_reader *reader, const struct bcast_batch *batch);

/* bcast_take() without waiting; what it took is checked. */
int feeder_take(struct bcast_reader *reader, uint32_t count, struct bcast_batch *batch);

/* Gaps of any ring among the numbers that it holds. */
uint32_t feeder_gaps(const struct bcast_ring *ring);

#endif
