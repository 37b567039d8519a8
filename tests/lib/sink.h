/*
 * sink.h - a final batch sink for tests: keeps what it gets, and notes the first breach of
 * what batch_sink.h says.
 */
#ifndef DSA_TESTS_SINK_H
#define DSA_TESTS_SINK_H

#include "loader/batch_sink.h"

#include <pthread.h>

enum { SINK_SLOTS = 8, SINK_BATCH = 64, SINK_BYTES = 16, SINK_PLACES = 4096 };

struct sink_batch {
	struct batch_sink_batch told;
	uint32_t first; /* of its places */
};

struct sink_slot {
	bool reserved, thrown;
	uint32_t count;
	unsigned char bytes[SINK_BATCH][SINK_BYTES];
};

struct sink {
	struct batch_sink base;
	uint32_t room;      /* places until sink_wait(); */
	uint32_t used;      /* of them */
	const char *breach; /* NULL: none */
	unsigned discarded, rewound;
	struct sink_slot slot[SINK_SLOTS];
	uint32_t order[SINK_SLOTS], reserved; /* slots, oldest first */
	uint32_t batches, places;
	struct sink_batch batch[SINK_PLACES];
	struct batch_sink_sample place[SINK_PLACES];
	bool has_readers; /* each place names its readers: holes stay where they are */
	unsigned char bytes[SINK_PLACES][SINK_BYTES];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned changes, seen;
};

void sink_init(struct sink *sink, uint32_t room);
void sink_fini(struct sink *sink);

/* Waits until something was published or discarded, or the sink was woken, since the last
 * call; then there is room again. Returns how many batches have been published or
 * discarded so far. */
unsigned sink_wait(struct sink *sink);

#endif
