/* fifo.c - first in, first out: what was admitted longest ago goes. */
#include "loader/cache/evict.h"

#include <stdlib.h>

struct fifo {
	uint32_t samples;
	uint32_t head, length; /* of the queue in ring */
	uint32_t ring[];       /* a sample is in it once at the most, so all fit */
};

static void *fifo_open(uint32_t samples)
{
	struct fifo *fifo = calloc(1, sizeof(*fifo) + samples * sizeof(fifo->ring[0]));

	if (fifo != NULL)
		fifo->samples = samples;
	return fifo;
}

static void fifo_push(void *state, uint32_t sample)
{
	struct fifo *fifo = state;

	fifo->ring[((uint64_t)fifo->head + fifo->length++) % fifo->samples] = sample;
}

static uint32_t fifo_pop(void *state)
{
	struct fifo *fifo = state;
	uint32_t sample = fifo->ring[fifo->head];

	fifo->head = fifo->head + 1 == fifo->samples ? 0 : fifo->head + 1;
	fifo->length--;
	return sample;
}

static const struct evict_order order = {
	.open = fifo_open,
	.close = free,
	.push = fifo_push,
	.pop = fifo_pop,
};

const struct cache_policy cache_fifo = EVICT_POLICY("fifo", &order);
