/*
 * random.h - seeded numbers that are the same on every machine.
 *
 * SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
 * OOPSLA 2014): one addition and a mixer per number, any seed is good.
 */
#ifndef DSA_RANDOM_H
#define DSA_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

/* Mixes 64 bits so that every input bit changes half of the output bits. */
static inline uint64_t random_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* One seed out of three numbers: for the draws of (seed, epoch, sample), say. */
static inline uint64_t random_seed(uint64_t a, uint64_t b, uint64_t c)
{
	return random_mix(random_mix(random_mix(a + 0x9e3779b97f4a7c15u) ^ b) + c);
}

static inline uint64_t random_next(struct random *random)
{
	return random_mix(random->state += 0x9e3779b97f4a7c15u);
}

/* Uniform in [0, 1), 53 bits. */
static inline double random_unit(struct random *random)
{
	return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* Uniform in [0, bound), bound > 0, without bias (Lemire, TOMACS 2019). */
static inline uint32_t random_below(struct random *random, uint32_t bound)
{
	uint64_t product = (random_next(random) >> 32) * bound;

	if ((uint32_t)product < bound) {
		uint32_t least = (0 - bound) % bound;

		while ((uint32_t)product < least)
			product = (random_next(random) >> 32) * bound;
	}
	return (uint32_t)(product >> 32);
}

#endif
