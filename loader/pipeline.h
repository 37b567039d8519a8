/*
 * pipeline.h - fetch, cache, prep and ring at work: turns the stream into batches.
 *
 *	sampler -> [open a slot] -> cache? -> fetch -> prep workers -> publish in order
 *
 *	            open batches, oldest first          places of a batch
 *	            +-------+-------+-------+           +---+---+---+---+
 *	 publish <- | head  |       | tail  | <- open   | D | P | R | W |
 *	            +-------+-------+-------+           +---+---+---+---+
 *	                                     Waiting, Reading, (ready), Preparing, Done
 *
 * The stream of an epoch is cut into batches at fixed positions: batch j owns positions
 * j*n .. j*n+n-1. A place whose sample can't be used takes the next position that no
 * earlier batch has used, so what a batch holds depends on the data and the seed, not
 * on the number of threads or their speed. Workers take the oldest ready sample,
 * whichever batch it is in.
 *
 * One lock guards everything but the bytes that are being read or prepared. It is taken
 * a few times a sample and never while reading, preparing or sleeping.
 *
 * Between pipeline_start() and pipeline_stop() a turn is on: one way of supplying and
 * using samples. Without `dsa run` there is one turn, from open to close.
 */
#ifndef DSA_PIPELINE_H
#define DSA_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

struct cache;
struct error;
struct fetch;
struct options;
struct pipeline;
struct prep;
struct ring;
struct source;
struct throttle;
struct trace_process;

/* All outlive the pipeline. */
struct pipeline_parts {
	const struct options *options;
	const struct source *source;
	struct cache *cache;
	const struct prep *prep;
	struct ring *ring;
	uint32_t slots;                /* of the ring, from 0, are the pipeline's */
	struct throttle *throttle;     /* NULL: none */
	struct trace_process *process; /* counters go here */
};

enum pipeline_mode {
	PIPELINE_STREAM, /* the stream through cache and fetch; delivered */
	PIPELINE_STAGED, /* the stream from staged bytes; delivered. Beyond them,
			    repeats */
	PIPELINE_DRAWN,  /* hits drawn from staged bytes, misses unread; repeats */
	PIPELINE_PREP,   /* staged bytes over and over; prepared and thrown away */
	PIPELINE_FETCH,  /* unread files; read and thrown away */
};

struct pipeline_turn {
	enum pipeline_mode mode;
	unsigned workers; /* at work; 0: as configured */
	unsigned depth;   /* reads in flight; 0: as configured */
	double hit;       /* drawn: probability */
	bool metered;     /* prep: one batch for each pipeline_credit() */
	bool undelayed;   /* --prep-delay does not count */
	bool unthrottled; /* fetch: nor does the throttle */
	bool bare;        /* no clocks, histograms and times of samples */
	bool paired;      /* each sample twice: bare and not */
};

/* One delivered sample, for the records of a run. */
struct pipeline_sample {
	uint32_t sample, bytes;
	uint32_t fetch_ns, prep_ns; /* saturated; fetch 0: a hit */
	bool hit;
};

enum { PIPELINE_PROBES = 512 };

/* Starts the threads; no turn is on. */
struct pipeline *pipeline_open(const struct pipeline_parts *parts, struct error *err);
void pipeline_close(struct pipeline *pipeline);

const struct fetch *pipeline_fetch(const struct pipeline *pipeline);

/* Who is told of skipped samples. Before the first turn. */
void pipeline_on_skip(struct pipeline *pipeline,
		      void (*tell)(void *context, uint32_t sample, int code,
				   const char *reason),
		      void *context);

void pipeline_start(struct pipeline *pipeline, const struct pipeline_turn *turn);

/*
 * Ends the turn: waits for samples in flight, empties the stages, and puts every sample
 * that was not delivered back into the stream. The reader has taken what it wants: the
 * caller discards what is published and not taken.
 */
void pipeline_stop(struct pipeline *pipeline);

/* The reader took the batch in this slot: the stream moves past it. */
void pipeline_delivered(struct pipeline *pipeline, uint32_t slot);

/* What the batch in a taken slot was made of; `at` is below its count. */
void pipeline_sample(const struct pipeline *pipeline, uint32_t slot, uint32_t at,
		     struct pipeline_sample *sample);

/* A slot was given back to the ring. */
void pipeline_released(struct pipeline *pipeline);

/* One more batch for a metered turn. */
void pipeline_credit(struct pipeline *pipeline);

/* 0 while there is more to come, 1 at the end of the data, -errno on failure (err). */
int pipeline_status(struct pipeline *pipeline, struct error *err);

/*
 * Errands between turns: read `count` samples of the stream from its next one on,
 * unthrottled, for at most limit_ns (0: no limit).
 * stage: keeps the bytes for staged, drawn and prep turns, in place of what was staged.
 * warm: through the page cache, and forgets them.
 * fill: offers the last samples of the epoch before this one to the cache until they
 *	make up `bytes`: what a steady state would hold.
 * Each returns how many samples were read. What is staged already, from the same
 * position on and as many, stays; a count of 0 forgets it.
 */
uint32_t pipeline_stage(struct pipeline *pipeline, uint32_t count, uint64_t limit_ns);
uint32_t pipeline_warm(struct pipeline *pipeline, uint32_t count, uint64_t limit_ns);
uint32_t pipeline_fill(struct pipeline *pipeline, uint64_t bytes, uint64_t limit_ns);

/*
 * Puts the next `count` unread files of drawn and fetch turns out of the page cache, as
 * far as the kernel lets go of them. Returns how many it was asked for.
 */
uint32_t pipeline_evict(struct pipeline *pipeline, uint32_t count);

/* Batches delivered beyond the staged samples in this turn, in samples. */
uint64_t pipeline_repeats(const struct pipeline *pipeline);

/*
 * Reads of a fetch turn of one read in flight, spread evenly over the turn so far: size
 * and time. Returns how many; of other turns there are none.
 */
uint32_t pipeline_probes(struct pipeline *pipeline,
			 struct pipeline_sample probes[PIPELINE_PROBES]);

/* CPU time of the prep threads since they started, in nanoseconds. */
uint64_t pipeline_prep_cpu(const struct pipeline *pipeline);

/* Next batch of the stream. */
void pipeline_position(struct pipeline *pipeline, uint64_t *epoch, uint64_t *step);

/* Batches in an epoch of this rank, at the most. */
uint64_t pipeline_steps(const struct pipeline *pipeline);

#endif
