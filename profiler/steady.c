#include "profiler/steady.h"
#include "loader/base/permutation.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static double lru_hit(double x, double s)
{
	return s < x ? 1 - (1 - x) / (1 - s) : 0;
}

/* The replay: samples, epochs before it counts, epochs counted, and the window of
 * positions around s. */
enum { SAMPLES = 4096, WARM_EPOCHS = 6, EPOCHS = 12, AROUND = SAMPLES / 32 };

struct fifo {
	bool held[SAMPLES];
	uint32_t queue[SAMPLES];
	uint32_t head, count, capacity;
};

/* Reads a sample; true when it was held. */
static bool fifo_read(struct fifo *fifo, uint32_t sample)
{
	if (fifo->held[sample])
		return true;
	if (fifo->count == fifo->capacity) {
		fifo->held[fifo->queue[fifo->head]] = false;
		fifo->head = (fifo->head + 1) % fifo->capacity;
		fifo->count--;
	}
	fifo->queue[(fifo->head + fifo->count++) % fifo->capacity] = sample;
	fifo->held[sample] = true;
	return false;
}

static double fifo_hit(double x, double s)
{
	struct fifo *fifo = calloc(1, sizeof(*fifo));
	uint32_t *order = calloc(SAMPLES, sizeof(*order)), reads = 0, hits = 0;
	double middle = s * SAMPLES, result = NAN;

	if (fifo == NULL || order == NULL)
		goto out;
	fifo->capacity = (uint32_t)fmax(1, x * SAMPLES);
	for (uint32_t epoch = 0; epoch < WARM_EPOCHS + EPOCHS; epoch++) {
		permutation_fill(order, SAMPLES, 1, epoch);
		for (uint32_t i = 0; i < SAMPLES; i++) {
			bool hit = fifo_read(fifo, order[i]);

			if (epoch < WARM_EPOCHS || fabs(i + .5 - middle) > AROUND)
				continue;
			reads++;
			hits += hit;
		}
	}
	result = (double)hits / reads;
out:
	free(fifo);
	free(order);
	return result;
}

double steady_hit(const char *policy, double x, double s)
{
	if (strcmp(policy, "none") == 0 || x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	if (strcmp(policy, "minio") == 0)
		return x;
	if (strcmp(policy, "lru") == 0 || strcmp(policy, "page") == 0)
		return lru_hit(x, s);
	return strcmp(policy, "fifo") == 0 ? fifo_hit(x, s) : 0;
}
