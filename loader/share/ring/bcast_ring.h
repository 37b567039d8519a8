/*
 * bcast_ring.h - a broadcast ring of prepared samples in shared memory: one writer, up
 * to 64 readers.
 *
 *	memfd, sealed, read-only for readers
 *	+--------+--------------------+----------------------------------+
 *	| header | place descriptors  | samples: place 0 | 1 | .. | S-1   |
 *	+--------+--------------------+----------------------------------+
 *	                                mapped twice, back to back: any run of S places
 *	                                is contiguous
 *
 *	sequence   ..  c  c+1  c+2 ..          tail <= every reader's released
 *	           ----|----------------|xxxxxxxxxxxx|--------
 *	            tail            published     reserved     tail + S: no further
 *
 *	slot       +----------------------------+  a memfd of one page for each reader;
 *	           | taken | released | waiting |  it and the writer may write it
 *	           +----------------------------+
 *
 * Sequence numbers count places for ever; number q lies in place q % S. The writer
 * fills places from `published` on and publishes whole batches of them; a reader walks
 * over them in order and splits them into batches of its own size: what it takes is
 * contiguous in its mapping, and nothing is copied. It stores `taken` before it looks
 * at a sample and `released` when it has given back all before; the least `released` is
 * the tail.
 *
 * A place is void when it holds no sample: `BCAST_BAD`, one that could not be read or
 * decoded (it counts in the epoch); `BCAST_GAP`, one that the writer went past because
 * a reader that was dropped may still use what it holds (it does not count). Places
 * whose samples took the place of bad ones before are void at the end of the pass, in a
 * row that may be as long as the ring. What is published before such a row is
 * `BCAST_SCARCE`: who copies it and gives it back at once does not stop the writer there.
 *
 * A reader counts its epoch down: of the places that carry its slot's bit, repeats and
 * gaps apart, the first `epoch_places` are its first epoch, and so on.
 *
 * With a device there is a mirror of the samples: what is published is copied there, and
 * `copied` follows `published`. A reader of the mirror goes by `copied`; a place that is
 * not copied yet counts as one that some reader holds.
 *
 * Wake-ups: `bell` in the header is a futex that changes with each publish; it is rung
 * when some slot says `waiting`. A reader that releases writes to its slot's eventfd
 * when the header says `hungry`. Nobody takes a lock, so nobody's death leaves one
 * held.
 */
#ifndef DSA_SHARE_BCAST_RING_H
#define DSA_SHARE_BCAST_RING_H

#include "loader/batch_sink.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct bcast_ring;
struct bcast_reader;
struct gpu;

/* How a reader's batches come to a device. */
enum bcast_device {
	BCAST_NO_DEVICE, /* they stay in memory */
	BCAST_MAPPING,   /* copied from the reader's mapping */
	BCAST_BUFFER,    /* copied from a buffer: no device can copy from the mapping */
	BCAST_MIRROR,    /* they are there already, */
	BCAST_WRITABLE,  /* but the driver can't map them read-only */
	BCAST_DEVICES
};

enum {
	BCAST_READERS = 64,
	BCAST_BAD = 1,
	BCAST_GAP = 2,
	BCAST_REPEATED = 4,
	BCAST_SCARCE = 8
};

/* What a place holds. Shared, read-only for readers. */
struct bcast_place {
	_Atomic uint64_t sequence; /* + 1; 0: never used */
	uint64_t readers;          /* who it is for */
	uint64_t checksum;         /* XXH3-64 of the sample with audit, else 0 */
	uint32_t sample, label;
	uint32_t flags, turn;
};

/* ---- the writer: the shared loader ---- */

/* Is called for what the pipeline does with the ring, with the pipeline's lock held. */
struct bcast_watcher {
	/* Before room is reserved; false: the pipeline may begin no batch now. */
	bool (*wanted)(void *context);
	/* Before readers can see the batch; readers may be attached here. */
	void (*publishing)(void *context, const struct batch_sink_batch *batch);
	/* After readers can see it; first: its first sequence number. */
	void (*published)(void *context, uint64_t first);
	/* After waiting readers were woken: the data ended or failed. */
	void (*woke)(void *context);
};

struct bcast_config {
	uint32_t places; /* at the least: rounded up, S samples fill whole pages */
	uint32_t slots;  /* of the pipeline; and places of one: */
	uint32_t batch;
	size_t sample_bytes;
	uint64_t sequence; /* of the first place */
	bool audit;        /* checksums */
	struct gpu *
		gpu; /* that has a mirror of the samples, and outlives it; NULL: none */
	const struct bcast_watcher *watcher; /* NULL: nobody */
	void *context;                       /* the watcher's */
};

struct bcast_ring *bcast_open(const struct bcast_config *config, struct error *err);
void bcast_close(struct bcast_ring *ring);

struct batch_sink *bcast_sink(struct bcast_ring *ring);
uint32_t bcast_places(const struct bcast_ring *ring); /* S */
uint64_t bcast_bytes(const struct bcast_ring *ring);  /* of memory, all in all */
int bcast_fd(const struct bcast_ring *ring); /* of the memfd: passed to readers */
int bcast_mirror_fd(
	const struct bcast_ring *ring); /* of the mirror; -1: there is none */

/* Whether copies to the mirror went well so far. 0, or -errno and err. */
int bcast_mirror_check(const struct bcast_ring *ring, struct error *err);

/* Sequence numbers. Any thread. */
uint64_t bcast_published(const struct bcast_ring *ring);
uint64_t bcast_tail(const struct bcast_ring *ring);

/* Of the next batch that is reserved, if no gap lies there. With the pipeline's lock
 * held. */
uint64_t bcast_reserved(const struct bcast_ring *ring);

/* NULL: not published yet, or not kept any more. With the pipeline's lock held, also
 * while what it points to is read. */
const struct bcast_place *bcast_place(const struct bcast_ring *ring, uint64_t sequence);

/* Publishes places that repeat what lies in them already, as far as there is room, at
 * most `count` (a synthetic window). Returns how many. With the pipeline's lock. */
uint32_t bcast_repeat(struct bcast_ring *ring, uint32_t count, uint32_t turn);

/* A slot: the page of one reader, and its eventfd. */
struct bcast_handles {
	int page, event; /* descriptors; the ring's */
	uint64_t start;  /* its first sequence number */
};

/*
 * Takes a slot free at the moment for a reader that begins at `start`, between tail and
 * published or at any later number. -EBUSY: all are taken. Returns its number.
 */
int bcast_attach(struct bcast_ring *ring, uint64_t start, struct bcast_handles *slot,
		 struct error *err);

/* Frees the slot of a reader that left, and what it held. */
void bcast_detach(struct bcast_ring *ring, uint32_t slot);

/* Stops waiting for a slow reader: what it has taken and not released stays valid until
 * it releases it or bcast_detach(). Its next take returns -ENOLINK. */
void bcast_drop(struct bcast_ring *ring, uint32_t slot);

/* A reader's counters, clamped: readers may write anything to their page. taken lies
 * between released and published, released never decreases. Of a reader that left all
 * is released, and taken is where it stopped. */
struct bcast_reader_state {
	uint64_t taken, released;
	bool waiting, dropped;
	/* For the status only: released; number and time of waits. */
	uint64_t batches, samples, waits, waited_ns;
	enum bcast_device device;
};
void bcast_reader_state(const struct bcast_ring *ring, uint32_t slot,
			struct bcast_reader_state *state);

/* Since when the writer has had no free place; 0: it has. CLOCK_MONOTONIC, ns. */
uint64_t bcast_full_since(const struct bcast_ring *ring);

/* Ends the stream: readers that have taken all get -ENODATA, or the failure: its code
 * and one line. */
void bcast_end(struct bcast_ring *ring, int code, const char *why);
void bcast_stop(struct bcast_ring *ring); /* -ENODATA, though there were more to come */

/* ---- the reader: one thread at a time ---- */

struct bcast_reader_config {
	int memory, page,
		event; /* descriptors, the reader's from now on, failed or not */
	uint32_t slot;
	uint64_t start;
	uint64_t epoch_places; /* N */
	uint64_t remaining;    /* places until its first epoch's end */
	bool audit;
	bool partial; /* takes hand out what there is, even if it is less than wanted */

	/* Of the first epoch: samples that the reader has had elsewhere; takes go past
	 * them. NULL: none. */
	bool (*had)(const void *context, uint32_t sample);
	const void *context;
};

struct bcast_reader *bcast_reader_open(const struct bcast_reader_config *config,
				       struct error *err);
void bcast_reader_close(struct bcast_reader *reader);

/* What was taken: sequence numbers [first, end) but for voids and other slots'. */
struct bcast_batch {
	uint64_t first, end;
	uint32_t count;   /* samples */
	const void *data; /* in a row; NULL: they are not (bcast_copy()) */
	uint64_t epoch;   /* the reader's own, from 0; 0 for repeats */
	bool epoch_ends;  /* the last one of its epoch */
	bool repeated;
	bool partial; /* fewer than wanted: there were no more yet, or none can come
		       * before these are given back */
	bool scarce;  /* BCAST_SCARCE */
	uint32_t turn;
};

/*
 * Takes the next `count` samples, or what is left of an epoch, or what lies before
 * repeats begin or end; no sample at all (and nothing to be released) where the last
 * places of an epoch are void. Waits timeout_ns at the most. labels and samples: room
 * for count. Returns 1; -EAGAIN: not yet (voids and other slots' places that come next
 * are gone past all the same, so that bcast_ahead() is 0 when nothing is left);
 * -ENODATA: the data ended; -EPIPE: the writer failed (err); -ENOLINK: this reader was
 * dropped, nothing was taken; -EBADMSG: checksums (audit) or the memory's own numbers
 * do not fit.
 */
int bcast_take(struct bcast_reader *reader, uint32_t count, uint64_t timeout_ns,
	       struct bcast_batch *batch, uint32_t *labels, uint32_t *samples,
	       struct error *err);

/* Copies the samples of a batch that do not lie in a row. */
void bcast_copy(const struct bcast_reader *reader, const struct bcast_batch *batch,
		void *to);

/* Gives a batch back, in any order. -EBADMSG: it changed while it was held (audit). */
int bcast_release(struct bcast_reader *reader, const struct bcast_batch *batch);

/* Once the data ended: somebody stopped it before it did by itself. */
bool bcast_stopped(const struct bcast_reader *reader);

/* The writer can't go on before this reader gives something back. */
bool bcast_blocks(const struct bcast_reader *reader);

size_t bcast_sample_bytes(const struct bcast_reader *reader);

/* Takes from the mirror from now on: what is not there yet is not taken. */
void bcast_use_mirror(struct bcast_reader *reader);

/* Where all samples lie, both mappings of them; read-only. */
const void *bcast_samples(const struct bcast_reader *reader, size_t *bytes);

/* Says for the status how batches come to its device. */
void bcast_say_device(struct bcast_reader *reader, enum bcast_device how);

/* BCAST_BAD places gone past, without repeats. */
uint64_t bcast_bad(const struct bcast_reader *reader);
uint64_t bcast_ahead(const struct bcast_reader *reader); /* published, not taken */

#endif
