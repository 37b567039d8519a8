/* sampler.c - permutations of epochs; it keeps the last two. */
#include "loader/sampler.h"
#include "loader/base/error.h"

#include <errno.h>
#include <stdlib.h>

struct order {
	uint64_t epoch;
	bool filled;
	uint32_t *row; /* the epoch's permutation */
};

struct sampler {
	struct sampler_config config;
	struct order order[2];
	unsigned last; /* of order[]: asked for last */
};

static int sampler_check(const struct sampler_config *config, struct error *err)
{
	if (config->count == 0)
		return error_set(err, EINVAL, "there are no samples to draw from");
	if (config->rank >= config->world)
		return error_set(err, EINVAL,
				 "rank %u is not one of %u: ranks count from 0",
				 config->rank, config->world);
	return 0;
}

static bool sampler_allocate(struct sampler *sampler)
{
	for (int i = 0; i < 2; i++) {
		sampler->order[i].row =
			calloc(sampler->config.count, sizeof(*sampler->order[i].row));
		if (sampler->order[i].row == NULL)
			return false;
	}
	return true;
}

struct sampler *sampler_open(const struct sampler_config *config, struct error *err)
{
	struct sampler *sampler;

	if (sampler_check(config, err) < 0)
		return NULL;
	sampler = calloc(1, sizeof(*sampler));
	if (sampler == NULL)
		goto no_memory;
	sampler->config = *config;
	if (!config->in_order && !sampler_allocate(sampler))
		goto no_memory;
	return sampler;

no_memory:
	sampler_close(sampler);
	error_sys(err, ENOMEM, "cannot shuffle %u samples", config->count);
	return NULL;
}

void sampler_close(struct sampler *sampler)
{
	if (sampler == NULL)
		return;
	free(sampler->order[0].row);
	free(sampler->order[1].row);
	free(sampler);
}

uint32_t sampler_length(const struct sampler *sampler)
{
	const struct sampler_config *config = &sampler->config;

	if (config->even)
		return config->count / config->world;
	if (config->rank >= config->count)
		return 0;
	return (config->count - config->rank - 1) / config->world + 1;
}

static const uint32_t *sampler_row(struct sampler *sampler, uint64_t epoch)
{
	struct order *order = &sampler->order[sampler->last];

	if (!order->filled || order->epoch != epoch) {
		sampler->last ^= 1;
		order = &sampler->order[sampler->last];
	}
	if (!order->filled || order->epoch != epoch) {
		permutation_draw(order->row, sampler->config.count,
				 sampler->config.blocks, sampler->config.seed, epoch);
		order->epoch = epoch;
		order->filled = true;
	}
	return order->row;
}

/* Where this rank's stretch begins: those before it are of full length, the first ones
 * with one sample more. */
static uint32_t sampler_stretch(const struct sampler_config *config)
{
	uint32_t over = config->even ? 0 : config->count % config->world;

	return config->rank * (config->count / config->world) +
	       (config->rank < over ? config->rank : over);
}

uint32_t sampler_sample(struct sampler *sampler, uint64_t epoch, uint32_t position)
{
	const struct sampler_config *config = &sampler->config;
	bool blocks = !config->in_order && config->blocks.run > 0;
	uint32_t number = blocks ? sampler_stretch(config) + position
				 : position * config->world + config->rank;

	return config->in_order ? number : sampler_row(sampler, epoch)[number];
}
