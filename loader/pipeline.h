/*
 * pipeline.h - fetch, cache and prep at work: turns the stream into batches.
 *
 *	plan -> [open a slot] -> cache? -> fetch -> prep workers -> publish in order
 *
 *	            open batches, oldest first          places of a batch
 *	            +-------+-------+-------+           +---+---+---+---+
 *	 publish <- | head  |       | tail  | <- open   | D | P | R | W |
 *	            +-------+-------+-------+           +---+---+---+---+
 *	                                     Waiting, Reading, (ready), Preparing, Done
 *
 * A pass of the plan (plan.h) is cut into batches at fixed positions: batch j owns
 * positions j*n .. j*n+n-1, the last one what is left. A place whose sample can't be
 * used takes the next position of the pass that no earlier batch has used, so what a
 * batch holds depends on the data and the seed, not on the number of threads or their
 * speed. Workers take the oldest ready sample, whichever batch it is in.
 *
 * A sample that could not be read is tried again when the stream comes by it again; one
 * that could not be decoded is not.
 *
 * Batches leave through a sink (batch_sink.h): the ring of this process, from which the
 * reader takes them and says so with pipeline_delivered(), or a final one, where to be
 * published is to be delivered. A final one gets every batch of the stream, whole,
 * holes too; of others, one without a good sample is discarded, and with drop_last one
 * that is not full.
 *
 * One lock guards everything but the bytes that are being read or prepared. It is taken
 * a few times a sample and never while reading, preparing or sleeping.
 *
 * Spans, those of the data and those of time:
 *
 *	epoch	every sample of this rank once, in one order
 *	pass	the part of an epoch between two cuts (plan.h); without a shared loader
 *		the epoch. No batch crosses its end
 *	window	the steps that dsa measures as one (loader/base/trace.h)
 *	turn	from pipeline_start() to pipeline_stop(): one way of supplying and using
 *		samples. One a window; without `dsa run` one from open to close
 */
#ifndef DSA_PIPELINE_H
#define DSA_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache;
struct error;
struct fetch;
struct options;
struct batch_sink;
struct pipeline;
struct plan;
struct prep;
struct source;
struct throttle;
struct trace;
struct trace_process;

/* A point of the stream: the next position of a pass, and up to which position of it
 * earlier batches have used samples beyond their own. */
struct pipeline_point {
	uint64_t pass;
	uint32_t position, stolen;
};

/* All outlive the pipeline. */
struct pipeline_parts {
	const struct options *options;
	const struct source *source;
	struct cache *cache;
	const struct prep *prep;
	struct plan *plan;
	struct pipeline_point start;
	struct batch_sink *sink;
	uint32_t slots;                /* of the sink; RING_SLOTS at the most */
	struct throttle *throttle;     /* NULL: none */
	struct trace_process *process; /* counters go here */
	struct trace *bound; /* the session that says how many objects may be asked for
			      * (most_gets), and is told why a server ended the data;
			      * NULL: any number */
	size_t device_bytes; /* copied to a device of a sample; 0: none are */

	/* Is called for each sample that is skipped, with the lock held; or NULL. */
	void (*on_skip)(void *context, uint32_t sample, int code, const char *reason);

	/* An epoch has lost over one in PIPELINE_LOSSY of its samples to reads that
	 * failed: once each, with the lock held. NULL: nobody asks. */
	void (*on_loss)(void *context, uint64_t epoch);
	void *context;
};

enum { PIPELINE_LOSSY = 100 };

/* What a turn does: a table of operations each (loader/pipeline/turn.h). */
struct turn_ops;
extern const struct turn_ops
	turn_stream, /* the stream through cache and fetch; delivered */
	turn_staged, /* the stream from staged bytes; delivered. Beyond them, repeats */
	turn_pool,   /* the same without clocks, times of samples and --prep-delay */
	turn_drawn,  /* hits drawn from staged bytes, misses unread; repeats */
	turn_prep,   /* staged bytes over and over; prepared and thrown away */
	turn_paired, /* the same, each sample twice: untimed and timed */
	turn_fetch;  /* unread files; read and thrown away */

struct pipeline_turn {
	const struct turn_ops *ops;
	unsigned workers; /* at work; 0: as configured */
	unsigned depth;   /* reads in flight; 0: as configured */
	double hit;       /* drawn: probability */
	bool metered;     /* prep: one batch for each pipeline_credit() */
	bool unthrottled; /* fetch: the throttle does not count */
	uint32_t number;  /* whatever the caller counts: batch_sink_batch.turn */
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

/* Whoever opened it is not driven: it may ask for any number of objects. */
void pipeline_unbind(struct pipeline *p);
void pipeline_close(struct pipeline *pipeline);

struct fetch *pipeline_fetch(const struct pipeline *pipeline);

void pipeline_start(struct pipeline *pipeline, const struct pipeline_turn *turn);

/*
 * Ends the turn: waits for samples in flight, empties the stages, and puts every sample
 * that was not delivered back into the stream. Where the sink is not final, the caller
 * then discards what is published and not taken.
 */
void pipeline_stop(struct pipeline *pipeline);

/*
 * Reads in flight of the stream. Where servers are asked, and the options leave them
 * open, they follow what requests take, until pipeline_depth_hold(): a measurement that
 * has begun is not to be disturbed. pipeline_depth_wait(): no batch is there for the
 * reader, which will wait.
 */
unsigned pipeline_depth(struct pipeline *pipeline);
void pipeline_depth_hold(struct pipeline *pipeline);
void pipeline_depth_wait(struct pipeline *pipeline);

/* The reader took the batch in this slot: the stream moves past it. Not for a final
 * sink. */
void pipeline_delivered(struct pipeline *pipeline, uint32_t slot);

/* What the batch in a taken slot was made of; `at` is below its count. */
void pipeline_sample_at(const struct pipeline *pipeline, uint32_t slot, uint32_t at,
			struct pipeline_sample *sample);

/* Call when there is room again in the sink. */
void pipeline_released(struct pipeline *pipeline);

/* Lets a metered turn open one more batch. */
void pipeline_credit(struct pipeline *pipeline);

/* 0 while there is more to come, 1 at the end of the data, -errno on failure (err). */
int pipeline_status(struct pipeline *pipeline, struct error *err);

/*
 * Readahead, between turns: reads `count` samples of the stream from its next one on,
 * unthrottled, for at most limit_ns (0: no limit).
 * stage: keeps the bytes for staged, drawn and prep turns, in place of what was staged.
 * warm: through the page cache, and forgets them.
 * hold: what the stream would have read already, together with samples before the next one,
 *	and keeps it for the next turn.
 * fill: offers the last samples of the epoch before this one to the cache until they
 *	make up `bytes`: what a steady state would hold.
 * Each returns how many samples were read. What is staged already, from the same
 * position on and as many, stays; a count of 0 forgets it.
 */
uint32_t pipeline_stage(struct pipeline *pipeline, uint32_t count, uint64_t limit_ns);
uint32_t pipeline_warm(struct pipeline *pipeline, uint32_t count, uint64_t limit_ns);
uint32_t pipeline_hold(struct pipeline *pipeline, uint64_t limit_ns);
uint32_t pipeline_fill(struct pipeline *pipeline, uint64_t bytes, uint64_t limit_ns);

/* Between turns: writes what is staged to a cache on disk, as far as that has room. */
void pipeline_keep_staged(struct pipeline *pipeline);

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

/* Samples that are prepared and that the reader has not taken; of batches that are not
 * finished those of the oldest alone: others' hits are prepared early, whatever limits. */
uint64_t pipeline_ahead(struct pipeline *pipeline);

/* CPU time of the prep threads since they started, in nanoseconds. */
uint64_t pipeline_prep_cpu(const struct pipeline *pipeline);

/* Takes the lock. next: the point where the next batch will begin. No sample from there
 * on, or from `stolen` if that is further, has been used: a pass may be cut there.
 * (Samples from there on may have been read: put back by pipeline_stop(), or staged.)
 * Until pipeline_unlock() the caller may call no other function of the pipeline but
 * pipeline_repeats() and pipeline_steps(). */
void pipeline_lock(struct pipeline *pipeline, struct pipeline_point *next);
void pipeline_unlock(struct pipeline *pipeline);

/* Next batch of the stream: the epoch of its pass, and its number in the pass.
 * Waits for nobody. */
void pipeline_position(struct pipeline *pipeline, uint64_t *epoch, uint64_t *step);

/* Batches in the longest pass so far. Any thread. */
uint64_t pipeline_steps(const struct pipeline *pipeline);

#endif
