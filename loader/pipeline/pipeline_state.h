/*
 * pipeline_state.h - what the parts of the pipeline share. Private to loader/pipeline/.
 *
 *	hole	a place that holds no sample: its own can't be used or was taken for an
 *		earlier batch. Before the batch is published the next unused position of
 *		the pass fills it; what nothing fills is published as a hole.
 *	stolen	the position of the pass up to which earlier batches took samples beyond
 *		their own to fill holes; places below it are holes when they are opened
 *	kick	wakes a fetch engine that waits only for its own reads
 *
 * Everything is guarded by pipeline.lock unless it says otherwise; functions here are
 * called with it held.
 */
#ifndef DSA_PIPELINE_STATE_H
#define DSA_PIPELINE_STATE_H

#include "loader/base/error.h"
#include "loader/batch_sink.h"
#include "loader/disk.h"
#include "loader/fetch.h"
#include "loader/pipeline/depth.h"
#include "loader/pipeline/merge.h"
#include "loader/pipeline/turn.h"
#include "loader/plan.h"
#include "loader/ring.h"

#include <pthread.h>

struct blob;
struct prep_worker;

enum place_state {
	PLACE_WAITING,   /* for a fetch thread */
	PLACE_READING,   /* by one */
	PLACE_READY,     /* for a prep worker: it has its bytes */
	PLACE_PREPARING, /* by one, without the lock */
	PLACE_DONE,      /* its numbers are in the sink */
	PLACE_HOLE,
};

struct place {
	enum place_state state;
	bool hit;
	bool failed; /* a hole whose sample can't be used, not counted yet */
	uint32_t sample;
	uint32_t fetch_ns, prep_ns;
	uint32_t held;            /* of prefetch_bytes, until it is prepared */
	uint32_t bytes;           /* as stored */
	uint32_t pixels;          /* decoded for it; */
	struct fetch_calls calls; /* and what reading it took */
	uint64_t seed;            /* of crop and flip */
	uint64_t readers;         /* who it is for */
	struct blob *blob;        /* kept until the slot is opened again */
};

/* What samples took: the counted_* of trace.h. */
struct pipeline_counts {
	uint64_t opens, reads, read_bytes, hits, pixels, skipped;
	uint64_t lost; /* samples that could not be read, each time */
};

/* Samples that the stream lost to reads that failed, in as many places as an epoch
 * has: the round-th so many. */
struct pipeline_losses {
	uint64_t round, lost;
	bool told;
};

/* One for each slot of the sink. */
struct batch {
	uint64_t pass, epoch;
	uint64_t base;  /* global position of the pass's first */
	uint32_t first; /* position of place 0 in the pass */
	uint32_t count; /* places */
	uint32_t waiting, ready, done,
		holes;   /* places in that state; done counts holes */
	bool stream;     /* its samples are the stream's own; else repeats */
	bool open;       /* being filled */
	bool delivered;  /* the reader took it */
	uint32_t stolen; /* of pipeline_point after it, when published */
	uint32_t failed; /* on_error=fail: its first place that can't be used */
	int failed_code; /* and why; 0: none */
	char failed_why[120];
	struct pipeline_counts unused; /* of samples that it tried and can't use */
	struct place *places;
};

struct worker {
	struct pipeline *pipeline;
	pthread_t thread;
	unsigned index;
	unsigned pairs;           /* samples prepared twice; its own */
	struct prep_worker *prep; /* its scratch memory; its own */
};

struct pipeline {
	struct pipeline_parts parts;
	uint32_t batch;         /* places in a full batch */
	uint32_t epoch_samples; /* of this rank */
	uint64_t delay_ns;      /* --prep-delay */

	pthread_mutex_t lock;
	pthread_cond_t work;   /* prep workers: a place is ready, or a slot is free */
	pthread_cond_t wanted; /* fetch threads: the same of places that wait */
	pthread_cond_t idle;   /* nothing is in flight; or a readahead is finished */
	bool closing, on;      /* on: a turn is */
	bool kick;             /* the fetch engine, when the lock is left */
	struct pipeline_turn turn;
	unsigned active;         /* workers of the turn, */
	unsigned resting;        /* those that wait for work, of all */
	_Atomic unsigned untold; /* places that came, without a wake so far */
	unsigned depth;          /* its reads in flight, */
	uint64_t opened;         /* and batches opened in it */
	uint64_t gets;           /* objects asked for, if no cache on disk has them */
	bool caches;             /* what was delivered is offered to the cache */
	bool adapts;             /* the stream's depth is that of: */
	struct depth requests;
	uint64_t held;        /* bytes of all places together */
	uint64_t untaken;     /* samples that are published and not delivered */
	uint32_t in_flight;   /* places and reads that a thread works on */
	struct error failure; /* code 0: none */

	struct pipeline_point next, /* to open; its `stolen` is below */
		delivered;          /* after the last batch delivered */
	uint64_t head_pass; /* pass of the oldest open batch, and its `stolen` */
	uint32_t stolen;
	_Atomic uint64_t epoch_now, step_now; /* of the batch after `delivered` */
	_Atomic uint64_t steps;               /* batches in the longest pass so far */
	uint64_t bad_in_a_row;     /* places without a good sample, up to here */
	uint32_t fifo[RING_SLOTS]; /* open slots, oldest first: head .. head+open-1 */
	uint32_t head, open;
	uint32_t slot_hint;
	struct batch *batches;             /* of each slot */
	struct batch_sink_sample *samples; /* of a batch that is being published */

	struct measuring measuring;

	uint64_t *named;   /* bit of each sample that could not be used once, */
	uint64_t *unread;  /* of those whose last failure was to be read: they are tried
			   * again, */
	uint64_t *skipped; /* and of those counted, in the order of the stream */
	struct pipeline_losses losses;
	struct pipeline_counts carried; /* from discarded batches to the next one */

	struct disk_stats told; /* to the session, of a cache on disk */
	struct merge *merge;    /* NULL: nothing is read together */
	struct fetch *fetch;
	struct worker *workers;
	unsigned worker_count;
};

/* stream.c */

/* The pass of a point of the stream. Past a pass's end that is the start of the next
 * one; at the end of the data its length is 0. */
void stream_pass(struct pipeline *pipeline, struct pipeline_point *point,
		 struct plan_pass *pass);

/*
 * Takes the oldest place that is WAITING to be read, or READY to be prepared, which is
 * then in flight; opens batches where there is none. NULL: none is to be had.
 */
struct place *stream_take(struct pipeline *pipeline, enum place_state state,
			  struct batch **batch);

/* Gives a place the stream's sample at this position of its batch's pass. */
void stream_supply(struct pipeline *pipeline, struct batch *batch, struct place *place,
		   uint32_t position);

void stream_drop(struct place *place); /* its bytes */

/* The place takes so much of prefetch_bytes from here on. */
void stream_hold(struct pipeline *pipeline, struct place *place, uint32_t bytes);

/*
 * Ends with a slot's last batch. Delivered samples of the stream are offered to the
 * cache only now: what was read ahead and then put back leaves no trace in it.
 */
void stream_retire(struct pipeline *pipeline, struct batch *batch);

/* What becomes of an empty place: its bytes are at hand; they must be fetched; it gives
 * back what it had and is empty again. */
void stream_ready(struct batch *batch, struct place *place, struct blob *blob);
void stream_wait(struct batch *batch, struct place *place);
void stream_reopen(struct batch *batch, struct place *hole);

/* The sample could not be used once, which was counted and told; it could not be read
 * when it was tried last; it can't be used, whether it is read or not. */
bool stream_named(const struct pipeline *pipeline, uint32_t sample);
bool stream_unread(const struct pipeline *pipeline, uint32_t sample);
bool stream_useless(const struct pipeline *pipeline, uint32_t sample);

/* Records what ends the data, unless something did before. Returns false. */
bool stream_fail(struct pipeline *pipeline, int code, const char *reason);

/* Drops what is open and puts the stream back behind the last delivered batch. */
void stream_rewind(struct pipeline *pipeline);

bool stream_ended(struct pipeline *pipeline);
uint32_t stream_slot(const struct pipeline *pipeline, const struct batch *batch);

/* What is published counts as delivered. */
static inline bool pipeline_final(const struct pipeline *pipeline)
{
	return pipeline->parts.sink->ops->final;
}

/* publish.c */

/* The place's sample is in its slot, or (code != 0) can't be used. */
void publish_place(struct pipeline *pipeline, struct batch *batch, struct place *place,
		   int code, const char *reason);

/* Publishes the oldest batches as far as they are finished. */
void publish_heads(struct pipeline *pipeline);

/* The stream moves past a batch that was published. */
void publish_delivered(struct pipeline *pipeline, struct batch *batch);

/* Notes where the stream is: what was delivered last ended there. */
void publish_position(struct pipeline *pipeline);

/* counts.c: counts what samples took, with the batch that they are delivered in. */

/* A hole of the head, or one that the head goes past: what it took counts as the
 * head's. */
void counts_unused(struct pipeline *pipeline, struct batch *head, struct place *hole);

/* The batch is discarded: what it took counts as the next one's that is published. */
void counts_discarded(struct pipeline *pipeline, const struct batch *batch);
void counts_published(struct pipeline *pipeline, struct batch *batch);

/* The reader took the batch: adds its counts to the session. */
void counts_delivered(struct pipeline *pipeline, const struct batch *batch);

/* fetch_client.c: opens the fetch engine. prep_pool.c: starts the prep threads. Without
 * the lock. */
int fetch_client_start(struct pipeline *pipeline, struct error *err);
int prep_pool_start(struct pipeline *pipeline, struct error *err);

/* fetch_client.c: objects that servers may still be asked for; more than there are in any
 * data set where there is no bound. With the lock. */
uint64_t fetch_client_left(const struct pipeline *pipeline);

/* pipeline_depth.c: begins with it; a read is back; a batch was taken. */
void pipeline_depth_open(struct pipeline *pipeline);
void pipeline_depth_answer(struct pipeline *pipeline, const struct fetch_job *job);
void pipeline_depth_take(struct pipeline *pipeline, const struct batch *batch);

/* wake.c: wakes whoever looks for work. Leaves the lock; the fetch engine is woken
 * outside of it. A place or read that was in flight is not any more. */
void pipeline_wake(struct pipeline *pipeline);
void pipeline_leave(struct pipeline *pipeline);
void pipeline_completed(struct pipeline *pipeline);

/* Nanoseconds as records keep them. */
static inline uint32_t pipeline_ns(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

#define TAG_READAHEAD (UINT64_C(1) << 63)

#endif
