/* permutation.h - the seeded order of an epoch, the same on every machine. */
#ifndef DSA_PERMUTATION_H
#define DSA_PERMUTATION_H

#include <stdint.h>

/*
 * Writes a uniformly drawn permutation of 0..count-1 (Fisher and Yates) that
 * depends on (seed, epoch, count) alone. `order` holds count numbers.
 */
void permutation_fill(uint32_t *order, uint32_t count, uint64_t seed, uint64_t epoch);

#endif
