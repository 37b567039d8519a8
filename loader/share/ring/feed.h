/*
 * feed.h - one stream of prepared samples in shared memory: one writer, up to 64 readers.
 *
 *	memfd, sealed, read-only for readers
 *	+--------+--------------------+-----------+----------------------------------+
 *	| header | place descriptors  | 2 x state | samples: place 0 | 1 | .. | S-1   |
 *	+--------+--------------------+-----------+----------------------------------+
 *	                                            mapped twice, one behind the other:
 *	                                            any run of S places lies in a row
 *
 *	sequence   ..  c  c+1  c+2 ..          tail <= every reader's released
 *	           ----|----------------|xxxxxxxxxxxx|--------
 *	            tail            published     reserved     tail + S: no further
 *
 *	seat       +----------------------------+  a memfd of one page for each reader;
 *	           | taken | released | waiting |  it and the writer may write it
 *	           +----------------------------+
 *
 * Sequence numbers count places for ever; number q lies in place q % S. The writer fills
 * places from `published` on and publishes whole batches of them; a reader walks over
 * them in order and cuts them into batches of its own size: what it takes lies in a row
 * in its mapping, and nothing is copied. It stores `taken` before it looks at a sample
 * and `released` when it has given back all before; the least `released` is the tail.
 *
 * A place is void when it holds no sample: `FEED_BAD`, one that could not be read or
 * decoded (it counts in the epoch); `FEED_ISLAND`, one that the writer went past because
 * somebody who was dropped may still look at what is in there (it does not count).
 *
 * A reader counts its epoch down: of the places that carry its seat's bit, repeats and
 * islands apart, the first `epoch_places` are its first epoch, and so on.
 *
 * Wake-ups: `bell` in the header is a futex that changes with each publish; it is rung
 * when some seat says `waiting`. A reader that releases writes to its seat's eventfd when
 * the header says `hungry`. Nobody takes a lock, so nobody's death leaves one held.
 */
#ifndef DSA_SHARE_FEED_H
#define DSA_SHARE_FEED_H

#include "loader/batch_sink.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct feed;
struct feed_reader;

enum { FEED_SEATS = 64, FEED_BAD = 1, FEED_ISLAND = 2, FEED_REPEATED = 4 };

/* What a place holds; 64 bytes. Shared, read-only for readers. */
struct feed_place {
	_Atomic uint64_t sequence; /* + 1; 0: never used */
	uint64_t seats;            /* who it is for */
	uint64_t checksum;         /* XXH3-64 of the sample with audit, else 0 */
	uint64_t lap; /* of the last place of a batch: batch_sink_batch's */
	uint64_t epoch;
	uint32_t position, stolen;
	uint32_t sample, label;
	uint32_t flags, turn;
};

/* ---- the writer: the shared loader ---- */

struct feed_config {
	uint32_t
		places; /* at the least; rounded up so that S samples fill whole pages */
	uint32_t slots; /* of the pipeline; and places of one: */
	uint32_t batch;
	size_t sample_bytes;
	size_t state_bytes; /* room for feed_save() */
	uint64_t sequence;  /* of the first place: 0, or where another one ended */
	bool audit;         /* checksums */
};

struct feed *feed_open(const struct feed_config *config, struct error *err);
void feed_close(struct feed *feed);

struct batch_sink *feed_outlet(struct feed *feed);
uint32_t feed_places(const struct feed *feed); /* S */
uint64_t feed_bytes(const struct feed *feed);  /* of memory, all in all */
int feed_fd(const struct feed *feed);          /* of the memfd: passed to readers */

/* Sequence numbers. Any thread. */
uint64_t feed_published(const struct feed *feed);
uint64_t feed_tail(const struct feed *feed);

/* Of the next batch that is reserved, if no island lies there. With the pipeline's lock
 * held. */
uint64_t feed_reserved(const struct feed *feed);

/* NULL: not published yet, or not kept any more. */
const struct feed_place *feed_place(const struct feed *feed, uint64_t sequence);

/* Publishes places that repeat what lies in them already, as far as there is room, at
 * most `count` (a synthetic window). Returns how many. With the pipeline's lock held. */
uint32_t feed_repeat(struct feed *feed, uint32_t count, uint32_t turn);

/* A seat: the page of one reader, and its eventfd. */
struct feed_seat {
	int page, event; /* descriptors; the feed's */
	uint64_t start;  /* its first sequence number */
};

/*
 * Takes a seat free at the moment for a reader that begins at `start`, between tail and
 * published or at any later number. -EBUSY: all are taken. Returns its number.
 */
int feed_sit(struct feed *feed, uint64_t start, struct feed_seat *seat,
	     struct error *err);

/* The reader is gone: what it held is free. */
void feed_stand(struct feed *feed, uint32_t seat);

/* The reader lives, but does not count any more: what it has taken and not released
 * stays as it is until it releases it or feed_stand(). It finds out at its next take. */
void feed_drop(struct feed *feed, uint32_t seat);

/* What a seat says, as far as it can be believed: taken between released and published,
 * released never going back. Of a reader that left all is released, and taken is where it
 * stopped. */
struct feed_seat_state {
	uint64_t taken, released;
	bool waiting, dropped;
	/* For figures, and whatever the reader likes: given back; and times and time that it
	 * waited. */
	uint64_t batches, samples, waits, waited_ns;
};
void feed_seat_state(const struct feed *feed, uint32_t seat,
		     struct feed_seat_state *state);

/* The writer is short of room, and has been since; 0: it is not. CLOCK_MONOTONIC, ns. */
uint64_t feed_full_since(const struct feed *feed);

/* Keeps what a writer that takes over needs; whole or not at all, whatever happens. */
void feed_save(struct feed *feed, const void *state, size_t bytes);

/* Ends the stream: readers that have taken all get -ENODATA, or the failure: its code
 * and one line. */
void feed_end(struct feed *feed, int code, const char *why);
void feed_stop(struct feed *feed); /* -ENODATA, though there were more to come */

/* ---- what a dead writer left ---- */

/* Looks into another writer's memfd without trusting it: seals, sizes, state. */
struct feed_wreck {
	void *state; /* a copy; valid until feed_wreck_close(). NULL: none was saved */
	size_t state_bytes;
	uint64_t published;
	struct feed_place last;    /* the last place published; sequence 0: none was */
	struct feed_place *places; /* all of them, a copy; sequence q in q % count */
	uint32_t count;
};
int feed_wreck_open(int fd, struct feed_wreck *wreck, struct error *err);
void feed_wreck_close(struct feed_wreck *wreck);

/* What lay there; NULL: it was not published, or is not kept any more. */
const struct feed_place *feed_wreck_place(const struct feed_wreck *wreck,
					  uint64_t sequence);

/* ---- the reader: one thread at a time ---- */

struct feed_reader_config {
	int memory, page,
		event; /* descriptors, the reader's from now on, failed or not */
	uint32_t seat;
	uint64_t start;
	uint64_t epoch_places; /* N */
	uint64_t remaining;    /* places until its first epoch's end: N, or less after a
				* take-over */
	bool audit;
	bool partial; /* takes hand out what there is, even if it is less than wanted */
};

struct feed_reader *feed_read(const struct feed_reader_config *config,
			      struct error *err);
void feed_leave(struct feed_reader *reader);

/* What was taken: sequence numbers [first, end) but for voids and other seats'. */
struct feed_batch {
	uint64_t first, end;
	uint32_t count;   /* samples */
	const void *data; /* in a row; NULL: they are not (feed_copy()) */
	uint64_t epoch;   /* the reader's own, from 0; 0 for repeats */
	bool epoch_ends;  /* the last one of its epoch */
	bool repeated;
	bool partial; /* fewer than wanted, because there were no more yet */
	uint32_t turn;
};

/*
 * Takes the next `count` samples, or what is left of an epoch, or what lies before
 * repeats begin or end; no sample at all (and nothing to be released) where the last
 * places of an epoch are void. Waits timeout_ns at the most. labels and samples: room for
 * count.
 * Returns 1; -EAGAIN: not yet (voids and other seats' places that come next are gone past
 * all the same, so that feed_next() is feed_published() when nothing is left); -ENODATA:
 * the data ended; -EPIPE: the writer failed (err);
 * -ENOLINK: this reader was dropped, nothing was taken; -EBADMSG: checksums (audit) or
 * the memory's own numbers do not fit.
 */
int feed_take(struct feed_reader *reader, uint32_t count, uint64_t timeout_ns,
	      struct feed_batch *batch, uint32_t *labels, uint32_t *samples,
	      struct error *err);

/* Copies the samples of a batch that do not lie in a row. */
void feed_copy(const struct feed_reader *reader, const struct feed_batch *batch,
	       void *to);

/* Gives a batch back, in any order. -EBADMSG: it changed while it was held (audit). */
int feed_release(struct feed_reader *reader, const struct feed_batch *batch);

/* The writer died: from now on takes do not wait, hand out what is there even if it is
 * less than `count`, and then return -EPIPE. */
void feed_orphan(struct feed_reader *reader);

/* Once the data ended: somebody stopped it before it did by itself. */
bool feed_stopped(const struct feed_reader *reader);

/* The writer can't go on before this reader gives something back. */
bool feed_blocks(const struct feed_reader *reader);

size_t feed_sample_bytes(const struct feed_reader *reader);
uint64_t feed_next(const struct feed_reader *reader);      /* sequence number */
uint64_t feed_remaining(const struct feed_reader *reader); /* places of this epoch */
uint64_t feed_ahead(const struct feed_reader *reader);     /* published, not taken */

#endif
