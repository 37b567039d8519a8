/*
 * epoch_parts.h - the parts of an epoch that windows with drawn hits stand for. Pure.
 *
 * A cache's hits change over an epoch. Each block has those of one of a few equal parts of
 * it; as many blocks as there are parts take all of them, in an order drawn anew. A run
 * ends after any number of blocks, and so has more windows of some parts than of others:
 * each part weighs alike (poststratification: Cochran, Sampling Techniques, 5A.9).
 */
#ifndef DSA_EPOCH_PARTS_H
#define DSA_EPOCH_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EPOCH_PARTS = 8 };

/* The part that a block of a session with this seed stands for. */
unsigned epoch_part(uint64_t seed, unsigned block);

/* How many windows, or blocks, there are of each part; begins as zeros. */
struct epoch_parts {
	size_t count[EPOCH_PARTS];
};

/* What one of a part weighs for those that there are to weigh alike: 1 on average. */
double epoch_parts_weight(const struct epoch_parts *parts, unsigned part);

/* True when no part is missing. */
bool epoch_parts_whole(const struct epoch_parts *parts);

#endif
