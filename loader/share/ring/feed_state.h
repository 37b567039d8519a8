/*
 * feed_state.h - what the parts of the feed share: the memory's layout, and the writer.
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
#ifndef DSA_SHARE_FEED_STATE_H
#define DSA_SHARE_FEED_STATE_H

#include "loader/base/shared_memory.h"
#include "loader/share/ring/feed.h"

#include <pthread.h>
#include <stdalign.h>

#define FEED_MAGIC 0x3164656566617364u /* "dsafeed1" */

enum { FEED_WHY = 240 };

/* Does not change. All offsets follow from the first five. */
struct feed_layout {
	uint64_t magic;
	uint32_t places, audit;
	uint64_t sample_bytes, state_bytes;
	uint64_t descriptors, states, samples; /* offsets */
	uint64_t bytes;                        /* in all */
};

enum feed_end { FEED_ENDED = 1, FEED_STOPPED }; /* by itself or failed; by somebody */

/* At offset 0. */
struct feed_header {
	struct feed_layout layout;

	alignas(64) _Atomic uint64_t published; /* sequence number */
	_Atomic uint32_t bell;  /* futex: changes with each publish, drop and end */
	_Atomic uint32_t ended; /* enum feed_end; 0: no `code` and `why` yet */
	int32_t code;
	char why[FEED_WHY];

	/* The tail that the writer waits for; 0: it does not. */
	alignas(64) _Atomic uint64_t hungry;
	_Atomic uint64_t reserved; /* what lies before it is published, or will be */

	/* The pass of the reader that counts in each seat; 0: nobody's. */
	alignas(64) _Atomic uint64_t pass[FEED_SEATS];

	/* Which of the two states is whole: 0 none, 1 or 2. */
	alignas(64) _Atomic uint32_t state;
	uint64_t state_used[2];
};

/* A reader's own page. */
struct feed_page {
	uint64_t pass; /* of the seat while this reader counts; the writer's word */
	_Atomic uint64_t taken, released;
	_Atomic uint32_t waiting;
	/* For figures alone. */
	_Atomic uint64_t batches, samples, waits, waited_ns;
};

/* Offsets for exactly so many places; false when the sizes fit no memory. */
bool feed_lay_out(struct feed_layout *layout, uint64_t places, uint64_t sample_bytes,
		  uint64_t state_bytes);

/* Room between the two states. */
uint64_t feed_state_step(const struct feed_layout *layout);

/*
 * Takes a layout out of memory that nobody vouches for: fd must be sealed such that it
 * neither shrinks nor can be written by others, and as big as it says. Maps what lies
 * before the samples, read-only, at *header. 0 or -errno and err.
 */
int feed_look(int fd, struct feed_layout *layout, const struct feed_header **header,
	      struct error *err);
void feed_unlook(const struct feed_header *header, const struct feed_layout *layout);

struct feed_seating {
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
struct feed_slot {
	uint64_t first, end; /* of what it took, islands included */
	uint32_t count;
	bool thrown;
};

struct feed {
	struct batch_sink sink;
	struct feed_layout layout;
	struct shared_memory memory;
	struct feed_header *header;
	struct feed_place *places;
	char *samples;
	uint32_t batch;

	/* The pipeline's lock. */
	uint64_t reserved; /* and in the header */
	struct feed_slot *slots;
	uint64_t *sequences;
	uint32_t *fifo; /* slots that are reserved, oldest first */
	uint32_t slot_count, head, open;
	bool *dirty; /* the place's bytes are not what its descriptor tells */

	pthread_mutex_t lock; /* of the rest; taken after the pipeline's */
	struct feed_seating seats[FEED_SEATS];
	uint64_t passes; /* given so far */
	uint64_t tail;

	_Atomic uint64_t full_since;
};

/* Reads what the seats say and moves the tail. With feed->lock. */
void feed_update(struct feed *feed);

/* How far an island goes on from a number that is to be reserved; 0: it is in none.
 * With feed->lock, after feed_update(). */
uint64_t feed_island(const struct feed *feed, uint64_t sequence);

/* The writer's end of a seat goes. */
void feed_vacate(struct feed_seating *seat);

/* With the pipeline's lock. */
void feed_set_reserved(struct feed *feed, uint64_t reserved);

/* Readers look again. */
void feed_ring(struct feed *feed);

/* Asks to be told when the tail has come to where the numbers below `end` are free; where
 * islands are, or end is 0, any step may be enough. Then look once more. */
void feed_starve(struct feed *feed, uint64_t end);

/* What came of it. */
void feed_note_room(struct feed *feed, bool room);

/* Tells what a place holds; all but its sequence number is in `content`. */
void feed_describe(struct feed *feed, uint64_t sequence,
		   const struct feed_place *content);

/* Publishes all numbers below this one. */
void feed_show(struct feed *feed, uint64_t published);

void feed_outlet_init(struct feed *feed);

#endif
