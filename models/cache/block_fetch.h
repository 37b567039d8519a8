/*
 * block_fetch.h - a replay of training that fetches its samples in blocks, as DELI does: for
 * comparison with loaders that have so many reads in flight.
 *
 *	sampler -> [fewer than `threshold` are asked for ahead] -> a fetch of `fetch` samples
 *	batch   -> each sample: held? else a GET of its own, while it waits
 *	fetch   -> all of its samples at once into a FIFO of `capacity`
 *
 * A batch sampler asks for a whole batch's samples before the first of them is loaded, so
 * that a fetch smaller than a batch is one of several that begin together.
 */
#ifndef DSA_BLOCK_FETCH_H
#define DSA_BLOCK_FETCH_H

#include <stdint.h>

struct error;

struct block_fetch {
	uint32_t total,
		shard; /* samples: of the data set; drawn afresh for each epoch */
	uint32_t batch;
	uint32_t fetch; /* samples of a block; 0: none are fetched ahead */
	uint32_t
		threshold; /* samples asked for beyond those of the batch, at the least */
	uint32_t capacity;  /* samples that the FIFO holds */
	double begin_s;     /* of a fetch, before its first sample comes */
	double fetch_per_s; /* samples a second, of all fetches together */
	double turn_s; /* of begin_s, what one fetch does while no other does: 0..begin_s */
	double hit_s, miss_s; /* to load a sample that is held, or is not */
	double compute_s;     /* of a sample */
	uint32_t epochs;
	uint64_t seed;
};

struct block_epoch {
	double miss_ratio, load_s, run_s;
	uint32_t fetches; /* that were begun */
	uint64_t gets;    /* samples asked for, by fetches and by misses */
};

/* Fills an element for each epoch. 0; -EINVAL (err) or -ENOMEM. */
int block_fetch_replay(const struct block_fetch *config, struct block_epoch *epochs,
		       struct error *err);

#endif
