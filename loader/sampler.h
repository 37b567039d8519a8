/*
 * sampler.h - which sample comes next: a seeded permutation per epoch, cut for a rank.
 *
 * An epoch of this rank is a row of positions 0..length-1. Position p of rank r of w
 * holds number p*w + r of the permutation, so ranks share nothing and together read
 * every sample once. In blocks each rank has a stretch of the permutation instead, so that
 * what lies side by side is read by one. The same (seed, epoch, count, rank, world) gives the same row on
 * any machine. One thread at a time.
 */
#ifndef DSA_SAMPLER_H
#define DSA_SAMPLER_H

#include "loader/base/permutation.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct sampler;

struct sampler_config {
	uint32_t count; /* samples in the data set, at least 1 */
	uint64_t seed;
	uint32_t rank, world; /* rank < world */
	bool in_order;        /* no permutation: position order is sample order */
	struct permutation_blocks blocks; /* how it is shuffled, else */
	bool even; /* same length on every rank: count / world, rest left out */
};

struct sampler *sampler_open(const struct sampler_config *config, struct error *err);
void sampler_close(struct sampler *sampler);

/* Positions in each epoch of this rank; may be 0 when world > count. */
uint32_t sampler_length(const struct sampler *sampler);

/*
 * The sample at (epoch, position), position < length. The permutations of the two
 * epochs asked for last are kept, so that walking over an epoch's edge is cheap.
 */
uint32_t sampler_sample(struct sampler *sampler, uint64_t epoch, uint32_t position);

#endif
