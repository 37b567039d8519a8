/*
 * batch_sink.h - where the pipeline puts finished batches: a ring of its own process,
 * or the shared ring that other processes read.
 *
 * Batches are made in slots 0..slots-1, several at once, and leave in the order in
 * which they were opened. Each slot goes: reserve -> sample() for its places -> publish
 * or discard. All calls with the pipeline's lock held, but sample(), whose pointers are
 * written to without it. A variant is one table of operations.
 */
#ifndef DSA_BATCH_SINK_H
#define DSA_BATCH_SINK_H

#include <stdbool.h>
#include <stdint.h>

struct batch_sink;

/* One place of a finished batch, in order. */
struct batch_sink_sample {
	uint32_t sample, label; /* UINT32_MAX of a hole */
	uint64_t readers;       /* who it is for; UINT64_MAX: all */
	bool hole;              /* no sample could be had for this place */
};

struct batch_sink_batch {
	uint64_t epoch, step;
	uint32_t count;    /* places, holes too: as reserved */
	uint32_t good;     /* samples: places 0..good-1; the holes come last, unless
			    * plan_ops.readers is set: then each stays in its place */
	bool repeated;     /* not part of the stream */
	uint32_t turn;     /* pipeline_turn.number */
	uint64_t pass;     /* of the plan; and where the stream stands after it: */
	uint32_t position; /* next position of the pass, */
	uint32_t stolen;   /* positions used beyond it, */
	uint32_t left;     /* and those that the pass has left */
};

struct batch_sink_ops {
	/* Takes room for `count` samples for this slot. False: there is none now.
	 * thrown: the batch will be discarded, not published. */
	bool (*reserve)(struct batch_sink *sink, uint32_t slot, uint32_t count,
			bool thrown);

	/* Where sample `at` of the slot goes. */
	void *(*sample)(struct batch_sink *sink, uint32_t slot, uint32_t at);

	/* The oldest reserved batch is finished; samples: batch->count of them. */
	void (*publish)(struct batch_sink *sink, uint32_t slot,
			const struct batch_sink_batch *batch,
			const struct batch_sink_sample *samples);

	/* The oldest reserved batch is not wanted. */
	void (*discard)(struct batch_sink *sink, uint32_t slot);

	/* Nothing that is reserved will be published: the stream goes back. */
	void (*rewind)(struct batch_sink *sink);

	/* Wakes readers that wait: the data ended, or failed. */
	void (*wake)(struct batch_sink *sink);

	/* True: what is published counts as delivered, nobody takes it back. */
	bool final;
};

/* The first member of every sink. */
struct batch_sink {
	const struct batch_sink_ops *ops;
};

#endif
