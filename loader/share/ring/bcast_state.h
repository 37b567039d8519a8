/*
 * bcast_state.h - the ring's memory layout, and its writer.
 *
 * Two stores that must not both be missed are everywhere ordered in one way: each side
 * stores its own word, then loads the other's, all four sequentially consistent. In
 * their single order one of the two loads comes after both stores.
 *
 *	reader stores            then loads     writer stores      then loads
 *	waiting                  published      published          waiting
 *	released                 hungry         hungry             released
 *	taken                    pass           pass (a drop)      taken
 */
#ifndef DSA_SHARE_BCAST_STATE_H
#define DSA_SHARE_BCAST_STATE_H

#include "loader/base/ipc/shared_memory.h"
#include "loader/share/ring/bcast_ring.h"

#include <pthread.h>
#include <stdalign.h>

#define BCAST_MAGIC 0x3364656566617364u /* "dsafeed3" */

enum { BCAST_WHY = 240 };

/* Does not change. All offsets follow from the first four and the machine's page. */
struct bcast_layout {
	uint64_t magic;
	uint32_t places, audit;
	uint64_t sample_bytes;
	uint64_t descriptors, samples; /* offsets */
	uint64_t bytes;                /* in all */
};

enum bcast_end {
	BCAST_ENDED = 1,
	BCAST_STOPPED
}; /* by itself or failed; by somebody */

/* At offset 0. */
struct bcast_header {
	struct bcast_layout layout;

	alignas(64) _Atomic uint64_t published; /* sequence number */
	_Atomic uint32_t bell;  /* futex: changes with each publish, drop and end */
	_Atomic uint32_t ended; /* enum bcast_end; 0: no `code` and `why` yet */
	int32_t code;
	char why[BCAST_WHY];

	/* The tail that the writer waits for; 0: it does not. */
	alignas(64) _Atomic uint64_t hungry;
	_Atomic uint64_t reserved; /* what lies before it is published, or will be */
	_Atomic uint64_t
		copied; /* what lies before it is in the mirror, if there is one */

	/* The pass of the reader that counts in each slot; 0: nobody's. */
	alignas(64) _Atomic uint64_t token[BCAST_READERS];
};

/* A reader's own page. */
struct bcast_reader_page {
	uint64_t token; /* of the slot while this reader counts; the writer's word */
	_Atomic uint64_t taken, released;
	_Atomic uint32_t waiting;
	/* For figures alone. */
	_Atomic uint64_t batches, samples, waits, waited_ns;
	_Atomic uint32_t device; /* enum bcast_device */
};

/* Offsets for exactly so many places; false when the sizes fit no memory. */
bool bcast_lay_out(struct bcast_layout *layout, uint64_t places, uint64_t sample_bytes);

/*
 * Takes a layout out of memory that nobody vouches for: fd must be sealed such that it
 * neither shrinks nor can be written by others, and as big as it says. Maps what lies
 * before the samples, read-only, at *header. 0 or -errno and err.
 */
int bcast_look(int fd, struct bcast_layout *layout, const struct bcast_header **header,
	       struct error *err);
void bcast_unlook(const struct bcast_header *header, const struct bcast_layout *layout);

struct bcast_reader_slot {
	bool taken;   /* by a reader */
	bool dropped; /* it does not count any more */
	struct shared_memory page;
	int event;
	uint64_t start;
	uint64_t released; /* as far as it was believed */
	uint64_t held;     /* dropped: the end of what it holds */
	uint32_t ahead;    /* places of the stream that are not for it, to come yet */
};

/* A batch in a slot: its places have the numbers sequences[slot * batch + at]. */
struct bcast_batch_slot {
	uint64_t first, end; /* of what it took, gaps included */
	uint32_t count;
	bool thrown;
};

/* The samples once more, on a device. */
struct bcast_mirror {
	struct gpu_mirror *there; /* NULL: none */
	/* What `copied` comes to, copy by copy: as many as there are places. The
	 * pipeline's lock; and of the driver's thread: */
	uint64_t *copied;
	uint64_t asked, done;
};

struct bcast_ring {
	struct batch_sink sink;
	const struct bcast_watcher *watcher; /* NULL: nobody */
	void *context;
	struct bcast_layout layout;
	struct shared_memory memory;
	struct bcast_header *header;
	struct bcast_place *places;
	char *samples;
	uint32_t batch;

	/* The pipeline's lock. */
	uint64_t reserved; /* and in the header */
	struct bcast_batch_slot *slots;
	uint64_t *sequences;
	uint32_t *fifo; /* slots that are reserved, oldest first */
	uint32_t slot_count, head, open;
	bool *dirty; /* the place's bytes are not what its descriptor says */

	pthread_mutex_t lock; /* of the rest; taken after the pipeline's */
	struct bcast_reader_slot readers[BCAST_READERS];
	uint64_t tokens; /* given so far */
	uint64_t tail;

	_Atomic uint64_t full_since;

	struct bcast_mirror mirror;
};

/* Reads what the slots say and moves the tail. With ring->lock. */
void bcast_update(struct bcast_ring *ring);

/* How far a gap extends from a number that is to be reserved; 0: there is none.
 * With ring->lock, after bcast_update(). */
uint64_t bcast_gap(const struct bcast_ring *ring, uint64_t sequence);

/* Closes the writer's end of a slot. */
void bcast_vacate(struct bcast_reader_slot *reader);

/* With the pipeline's lock. */
void bcast_set_reserved(struct bcast_ring *ring, uint64_t reserved);

/* Wakes the readers that wait. */
void bcast_wake(struct bcast_ring *ring);

/* Requests a wake-up when the tail has advanced so far that the numbers below `end` are
 * free; with gaps, or where end is 0, at any advance. The caller then looks again. */
void bcast_starve(struct bcast_ring *ring, uint64_t end);

/* Notes whether there was room. */
void bcast_note_room(struct bcast_ring *ring, bool room);

/* Writes the descriptor of a place; all but its sequence number is in `content`. */
void bcast_describe(struct bcast_ring *ring, uint64_t sequence,
		    const struct bcast_place *content);

/* Publishes all numbers below this one. */
void bcast_show(struct bcast_ring *ring, uint64_t published);

/* bcast_mirror.c: 0 or -errno and err; bcast_mirror_close() either way. */
int bcast_mirror_open(struct bcast_ring *ring, struct gpu *gpu, struct error *err);
void bcast_mirror_close(struct bcast_ring *ring);

/* With the pipeline's lock, and not ring->lock: copies what was put into these places;
 * then says so of all below `end`. */
void bcast_mirror_copy(struct bcast_ring *ring, uint64_t first, uint64_t end);
void bcast_mirror_show(struct bcast_ring *ring, uint64_t end);

/* Waits until all is copied that was published. 0, or -errno and err. */
int bcast_mirror_finish(const struct bcast_ring *ring, struct error *err);

void bcast_sink_init(struct bcast_ring *ring);

#endif
