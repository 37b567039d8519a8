/* permutation.c - shuffles inside out; in blocks, runs first. */
#include "loader/base/permutation.h"
#include "loader/base/random.h"

enum { RUN_BYTES = 1 << 20, WINDOW_RUNS = 64 };
static const double ROUNDED = 1.41421356; /* to the nearest power of two, by ratio */

void permutation_fill(uint32_t *order, uint32_t count, uint64_t seed, uint64_t epoch)
{
	struct random random = {.state = random_seed(seed, epoch, count)};

	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = random_below(&random, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
}

struct permutation_blocks permutation_blocks_of(uint64_t bytes, uint32_t count)
{
	uint64_t mean = bytes / count;
	double most = ROUNDED * RUN_BYTES / (mean > 0 ? (double)mean : 1);
	uint32_t run = 1;

	while (2.0 * run <= most)
		run *= 2;
	return (struct permutation_blocks){run, run * WINDOW_RUNS};
}

/*
 * The first numbers of `order` are those of runs: puts their samples there. From the end
 * on, since no run begins before its number: so none is overwritten that is still needed.
 */
static void permutation_spread(uint32_t *order, uint32_t count, uint32_t run)
{
	uint32_t at = count;

	for (uint32_t i = (count - 1) / run + 1; i-- > 0;) {
		uint32_t first = order[i] * run;
		uint32_t size = count - first < run ? count - first : run;

		at -= size;
		for (uint32_t j = 0; j < size; j++)
			order[at + j] = first + j;
	}
}

static void permutation_shuffle(uint32_t *order, uint32_t count, struct random *random)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = random_below(random, i), last = order[i - 1];

		order[i - 1] = order[j];
		order[j] = last;
	}
}

void permutation_draw(uint32_t *order, uint32_t count, struct permutation_blocks blocks,
		      uint64_t seed, uint64_t epoch)
{
	struct random random = {.state = random_seed(seed, ~epoch, count)};

	if (blocks.run == 0) {
		permutation_fill(order, count, seed, epoch);
		return;
	}
	permutation_fill(order, (count - 1) / blocks.run + 1, seed, epoch);
	permutation_spread(order, count, blocks.run);
	for (uint32_t left = count; left > 0;) {
		uint32_t size = left < blocks.window ? left : blocks.window;

		permutation_shuffle(order + (count - left), size, &random);
		left -= size;
	}
}

/* The mean share of the other samples of a batch that are of a sample's own run. */
static double permutation_alike(double run, double window, double batch)
{
	double among = window > batch ? window : batch;

	return among > 1 ? (run - 1) / (among - 1) : 0;
}

double permutation_design_effect(uint32_t count, struct permutation_blocks blocks,
				 uint32_t batch)
{
	double window = blocks.window < count ? blocks.window : count;
	double run = blocks.run < count ? blocks.run : count;

	if (blocks.run == 0)
		return 1;
	return (1 + (batch - 1) * permutation_alike(run, window, batch)) /
	       (1 + (batch - 1) * permutation_alike(run, count, batch));
}
