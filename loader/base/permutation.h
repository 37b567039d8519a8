/*
 * permutation.h - the seeded order of an epoch, the same on every machine.
 *
 *	in the data set	|0 1 2|3 4 5|6 7 8|9 ...	runs of neighbours,
 *	permuted	|6 7 8|0 1 2|9 ...|3 4 5|	whole ones,
 *	shuffled	|7 1 0 8 6 2|9 5 ...		and what is in a window of some
 */
#ifndef DSA_PERMUTATION_H
#define DSA_PERMUTATION_H

#include <stdint.h>

/*
 * Writes a uniformly drawn permutation of 0..count-1 (Fisher and Yates) that
 * depends on (seed, epoch, count) alone. `order` holds count numbers.
 */
void permutation_fill(uint32_t *order, uint32_t count, uint64_t seed, uint64_t epoch);

/* A shuffle that reads neighbours together. run 0: there is none, all are shuffled at once. */
struct permutation_blocks {
	uint32_t run; /* samples of a run; the last one of a data set may be shorter */
	uint32_t window; /* samples that are shuffled together: a multiple of it */
};

/*
 * Runs of .7 to 1.4 MiB, 64 of them in a window, for samples of this mean size. A run is a
 * power of two of samples: the few bytes that a kind of shards adds to each then change no
 * order.
 */
struct permutation_blocks permutation_blocks_of(uint64_t bytes, uint32_t count);

/* permutation_fill(), or its like in blocks: each sample once there, too. */
void permutation_draw(uint32_t *order, uint32_t count, struct permutation_blocks blocks,
		      uint64_t seed, uint64_t epoch);

/*
 * How far a batch is from a sample drawn uniformly, at the worst: where the samples of a
 * run are alike, as in a data set sorted by class. The design effect of cluster sampling
 * (Kish: Survey Sampling, 1965): the variance of a batch's mean, to that after a global
 * shuffle; batch / this is how many samples drawn uniformly tell as much. 1: uniform.
 */
double permutation_design_effect(uint32_t count, struct permutation_blocks blocks,
				 uint32_t batch);

#endif
