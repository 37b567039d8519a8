/*
 * turn.h - what a turn does with the pipeline, and what dsa's own turns keep. Private
 * to loader/pipeline/.
 *
 * One file and one table for each: turn_stream.c is the program's, and all that it
 * needs is in stream.c, fetch_client.c, prep_pool.c and publish.c; the others measure.
 * Calls are made with the pipeline's lock held, except prepare().
 */
#ifndef DSA_PIPELINE_TURN_H
#define DSA_PIPELINE_TURN_H

#include "loader/base/random.h"
#include "loader/pipeline.h"

struct batch;
struct blob;
struct fetch_job;
struct place;
struct plan_pass;
struct sampler;
struct worker;

struct turn_ops {
	/* True: another batch may be opened. NULL: none ever. */
	bool (*may_open)(struct pipeline *pipeline);

	/* True: the next batch is the stream's, in this pass; else it repeats samples.
	 * NULL: all repeat. */
	bool (*streams)(const struct pipeline *pipeline, const struct plan_pass *pass);

	/* The bytes of a sample of the stream, with a reference; NULL: to be fetched.
	 * position: in the batch's pass. */
	struct blob *(*find)(struct pipeline *pipeline, const struct batch *batch,
			     struct place *place, uint32_t position);

	/* Gives a place a sample that is not the stream's. False: none is any good. */
	bool (*repeat)(struct pipeline *pipeline, struct batch *batch,
		       struct place *place);

	/* The next read; false: none is wanted. The read came back: the blob, or NULL
	 * and result, passes to the turn. */
	bool (*next_read)(struct pipeline *pipeline, struct fetch_job *job);
	void (*read_done)(struct pipeline *pipeline, const struct fetch_job *job,
			  struct blob *blob, int result);

	/* Prepares a sample into its slot. 0 or -errno. */
	int (*prepare)(struct worker *worker, const struct batch *batch,
		       struct place *place, struct error *err);

	bool counted; /* what samples take goes into the session's counted_* */
	bool adapts;  /* reads in flight follow what they take, of servers */
	bool staging; /* its reads measure no storage: unthrottled, counted apart */
	bool draws;   /* its places say whether they are to be hits */
	bool merges;  /* neighbours are read together (merge.h) */
	bool thrown;  /* its batches are discarded, not published */
};

/* Bytes read ahead: samples at global positions first, first+1, ... */
struct staged {
	uint64_t first;
	uint32_t count;
	uint32_t next; /* to repeat; counts on */
	uint32_t *samples;
	struct blob **blobs;
};

/* Every `stride`th read of a fetch turn; the stride doubles when the room is full. */
struct probes {
	uint32_t count, stride;
	uint64_t seen;
	struct pipeline_sample kept[PIPELINE_PROBES];
};

enum readahead_kind {
	READAHEAD_NONE,
	READAHEAD_STAGE,
	READAHEAD_WARM,
	READAHEAD_FILL,
	READAHEAD_HOLD, /* what a turn of the stream would have read before */
};

struct readahead {
	enum readahead_kind kind;
	uint32_t count;    /* of samples; */
	uint32_t next;     /* of them: the next to be read, */
	uint32_t read;     /* and those that brought their bytes */
	uint64_t deadline; /* 0: none */
	const uint32_t *samples;
	struct blob **blobs; /* stage */
};

/* Under the pipeline's lock. */
struct measuring {
	struct sampler *unread; /* order in which unread files are asked for, */
	uint64_t asked;         /* and how many were */
	struct staged staged;
	struct readahead readahead; /* between turns */
	struct probes probes;
	struct random draw;
	uint64_t credits;         /* batches that a metered turn may open */
	_Atomic uint64_t repeats; /* samples delivered in this turn beyond the stream */
};

/* turn_fetch.c: a sample for a read that measures storage, each before any comes
 * again. */
uint32_t unread_sample(struct pipeline *pipeline);

/* turn_staged.c: frees what is staged; for all turns over staged bytes. */
void staged_forget(struct pipeline *pipeline);
bool staged_may_open(struct pipeline *pipeline);
bool staged_repeat(struct pipeline *pipeline, struct batch *batch, struct place *place);

/* fetch_client.c: reads for the places of batches. */
bool place_next_read(struct pipeline *pipeline, struct fetch_job *job);
void place_read_done(struct pipeline *pipeline, const struct fetch_job *job,
		     struct blob *blob, int result);

/* prep_pool.c: prepares a sample; takes as long as --prep-delay asks; and is timed. */
int prep_bare(struct worker *worker, const struct batch *batch, struct place *place,
	      struct error *err);
int prep_delayed(struct worker *worker, const struct batch *batch, struct place *place,
		 struct error *err);
int prep_timed(struct worker *worker, const struct batch *batch, struct place *place,
	       struct error *err);

/* readahead.c */
bool readahead_next(struct pipeline *pipeline, struct fetch_job *job);
void readahead_done(struct pipeline *pipeline, const struct fetch_job *job,
		    struct blob *blob);

/* repeat.c: fills a batch, or a hole in the oldest one, with samples that are not the
 * stream's. False: there is none, which ends the data, or it must be waited for. */
bool repeat_open(struct pipeline *pipeline, struct batch *batch);
bool repeat_fill(struct pipeline *pipeline, struct batch *head, struct place *hole);

#endif
