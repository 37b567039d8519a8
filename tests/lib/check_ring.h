/*
 * check_ring.h - a writer of the broadcast ring that behaves as the pipeline does, and
 * readers that check all that they get. The samples are 0 .. N-1 in order, over and
 * over; some can't be read.
 */
#ifndef DSA_TESTS_CHECK_RING_H
#define DSA_TESTS_CHECK_RING_H

#include "loader/share/ring/bcast_ring.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHECK_SLOTS = 4, CHECK_MOST = 64 /* samples of a reader's batch */ };

/* After which nobody comes any more. */
extern const uint64_t check_hang_ns;

struct check_piece {
	uint32_t position, count;
	bool thrown;
};

struct check_writer {
	struct bcast_ring *ring;
	uint32_t samples;     /* N */
	uint32_t next, shown; /* positions */
	uint32_t stamp;
	uint32_t fifo[CHECK_SLOTS], open;
	struct check_piece pieces[CHECK_SLOTS];
	struct bcast_handles readers[BCAST_READERS];
};

/* Of a ring that the caller closes. */
struct check_writer check_writer_of(uint32_t places, uint32_t samples);

/* Begins a batch, which is thrown away in the end or not; false: there is no room. */
bool check_writer_begin(struct check_writer *writer, bool thrown);

/* Ends the oldest: samples that can be read come first. */
void check_writer_finish(struct check_writer *writer);

/* What was begun goes back. */
void check_writer_rewind(struct check_writer *writer);

/* Waits until one of these readers gave something back; fails the test if none does. */
void check_writer_wait(struct check_writer *writer, const uint32_t *numbers,
		       unsigned count);

/* Fails no test once it has joined: it may be in any thread or process. */
struct check_reader {
	struct bcast_reader *reader;
	uint32_t slot, samples;
	uint8_t *seen;
	uint64_t epochs;
};

/* What it has of a batch, and the hash of its bytes when it got it. */
struct check_held {
	struct bcast_batch batch;
	uint64_t hash;
};

void check_reader_join(struct check_writer *writer, struct check_reader *reader,
		       uint64_t start);

/* Again, in a forked child, which inherits no reader's memory. */
void check_reader_open(const struct check_writer *writer, struct check_reader *reader,
		       uint64_t start);

void check_reader_leave(struct check_reader *reader);

/* Takes a batch. As bcast_take(); -EILSEQ: what came is wrong, or an epoch has not each
 * sample once. */
int check_reader_take(struct check_reader *reader, uint32_t count, uint64_t wait,
		      struct check_held *held);

/* Whether the batch's bytes are what they were; and whether it could be given back. */
bool check_reader_unchanged(const struct check_reader *reader,
			    const struct check_held *held);
bool check_reader_release(struct check_reader *reader, const struct check_held *held);

#endif
