#include "models/hits.h"
#include "loader/base/permutation.h"
#include "loader/base/steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[HITS_POLICIES] = {
	[HITS_NONE] = "none",       [HITS_PAGE] = "page", [HITS_MINIO] = "minio",
	[HITS_LRU] = "lru",         [HITS_FIFO] = "fifo", [HITS_RANDOM] = "random",
	[HITS_NEXTUSE] = "nextuse",
};

int hits_policy(const char *name)
{
	for (int i = 0; i < HITS_POLICIES; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

const char *hits_policy_name(enum hits_policy policy)
{
	return names[policy];
}

/* The replay of page, and what of an epoch stands for one position. */
enum { SAMPLES = 4096, WARM = 10, EPOCHS = 26, AROUND = SAMPLES / 32 };

/* Of a sample there: pages, no less than a picture has. Up to 1 GiB size is all one. */
static uint64_t sample_bytes(uint64_t dataset_bytes)
{
	const uint64_t page = 4096, picture = 28 * page;
	uint64_t bytes = dataset_bytes / SAMPLES / page * page;

	return bytes > picture ? bytes : picture;
}

/* Share of hits among the reads less than `around` from position s. */
static double page_hits(double x, uint64_t dataset_bytes, double s, double around)
{
	uint64_t bytes = sample_bytes(dataset_bytes);
	double capacity = x * SAMPLES * (double)bytes, result = NAN;
	struct hits_cache *cache =
		hits_cache_new(HITS_PAGE, SAMPLES, (uint64_t)capacity, 0);
	uint32_t *order = calloc(SAMPLES, sizeof(*order)), reads = 0, hits = 0;

	if (cache == NULL || order == NULL)
		goto out;
	for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
		permutation_fill(order, SAMPLES, 0, epoch);
		for (uint32_t i = 0; i < SAMPLES; i++) {
			bool hit = hits_cache_read(cache, order[i], bytes);
			bool counts =
				epoch >= WARM && fabs(i + .5 - s * SAMPLES) < around;

			reads += counts;
			hits += counts && hit;
		}
	}
	result = (double)hits / reads;
out:
	hits_cache_free(cache);
	free(order);
	return result;
}

double hits_mean(enum hits_policy policy, double x, uint64_t dataset_bytes)
{
	if (policy == HITS_PAGE)
		return page_hits(x, dataset_bytes, .5, SAMPLES);
	return steady_mean(names[policy], x);
}

double hits_at(enum hits_policy policy, double x, uint64_t dataset_bytes, double s)
{
	if (policy == HITS_PAGE)
		return page_hits(x, dataset_bytes, s, AROUND);
	return steady_hit(names[policy], x, s);
}
