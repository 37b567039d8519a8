/* permutation.c - shuffles inside out. */
#include "loader/base/permutation.h"
#include "loader/base/random.h"

void permutation_fill(uint32_t *order, uint32_t count, uint64_t seed, uint64_t epoch)
{
	struct random random = {.state = random_seed(seed, epoch, count)};

	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = random_below(&random, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
}
