/* epoch_parts.c - which part of an epoch a block has, and what it weighs. */
#include "profiler/session/epoch_parts.h"
#include "loader/base/permutation.h"

unsigned epoch_part(uint64_t seed, unsigned block)
{
	uint32_t order[EPOCH_PARTS];

	permutation_fill(order, EPOCH_PARTS, seed, block / EPOCH_PARTS);
	return order[block % EPOCH_PARTS];
}

static size_t epoch_parts_there(const struct epoch_parts *parts)
{
	size_t there = 0;

	for (int i = 0; i < EPOCH_PARTS; i++)
		there += parts->count[i] > 0;
	return there;
}

double epoch_parts_weight(const struct epoch_parts *parts, unsigned part)
{
	size_t all = 0;

	for (int i = 0; i < EPOCH_PARTS; i++)
		all += parts->count[i];
	return (double)all / (double)(epoch_parts_there(parts) * parts->count[part]);
}

bool epoch_parts_whole(const struct epoch_parts *parts)
{
	return epoch_parts_there(parts) == EPOCH_PARTS;
}
