/*
 * Where the laws come from. All is in shares of the data set; the data set is large, so
 * that chances are shares. m(s) is the chance of a miss at position s, M(s) the misses
 * of the epoch up to s.
 *
 * minio: what it holds never changes. nextuse: nothing that is admitted in an epoch is
 * read again in it, so the hits of an epoch are at most what was held when it began.
 *
 * lru: a sample read at position u of the last epoch is still there at s if fewer than
 * x others were read since. 1-u were read between it and the edge, s after it, of which
 * (1-u) s again: (1-u) + u s < x, that is u > (1-x)/(1-s), and u is uniform.
 *
 * fifo: at s the queue holds what the last x misses brought. M(s) of that was read in
 * this epoch already. The rest, admitted in earlier epochs, lies anywhere in this one's
 * order, for a hit does not move it: so the chance of a hit is x - M(s) until that is
 * nothing. M' = 1 - x + M gives M = (1-x)(e^s - 1).
 *
 * random: a miss throws out any of the x that are held. What was read at u of the last
 * epoch is held then, and survives until s with e^(-(M(1)-M(u)+M(s))/x). The mean over
 * u is C e^(-M(s)/x) with a constant C; M' = 1 - C e^(-M/x) is solved by
 * e^(M/x) = C + (1-C) e^(s/x), and that mean is C for C = x alone.
 */
#include "loader/base/math/steady.h"
#include "loader/base/math/hits_cache.h"
#include "loader/base/math/page_cache.h"
#include "loader/base/permutation.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* For 0 < x < 1. A policy without a law is replayed. */
struct law {
	double (*hit)(double x, double s), (*mean)(double x);
};

static double share_hit(double x, double s)
{
	(void)s;
	return x;
}

static double share_mean(double x)
{
	return x;
}

static double lru_hit(double x, double s)
{
	return s < x ? 1 - (1 - x) / (1 - s) : 0;
}

static double lru_mean(double x)
{
	return x + (1 - x) * log1p(-x);
}

static double fifo_hit(double x, double s)
{
	return fmax(0, 1 - (1 - x) * exp(s));
}

static double fifo_mean(double x)
{
	double end = fmin(1, -log1p(-x)); /* no hits from there on */

	return end - (1 - x) * expm1(end);
}

static double random_hit(double x, double s)
{
	double stays = x * exp(-s / x);

	return stays / (stays + 1 - x);
}

static double random_mean(double x)
{
	return -x * log(1 - x + x * exp(-1 / x));
}

static const struct law laws[CACHE_IDS] = {
	[CACHE_MINIO] = {share_hit, share_mean},
	[CACHE_LRU] = {lru_hit, lru_mean},
	[CACHE_FIFO] = {fifo_hit, fifo_mean},
	[CACHE_RANDOM] = {random_hit, random_mean},
	[CACHE_NEXTUSE] = {share_hit, share_mean},
};

static bool steady_hits(int policy, double x)
{
	return policy > CACHE_NONE && policy < CACHE_IDS && x > 0;
}

enum { SAMPLES = 4096, EPOCHS = 16 }; /* of a replay; those that count */

/* Of a sample there: pages, no less than a picture has, for up to 1 GiB size is all
 * one; and no more than those of the largest data sets, for it counts less and less. */
static uint64_t steady_sample_bytes(uint64_t dataset_bytes)
{
	const uint64_t page = 4096, picture = 28 * page, largest = 1 << 30;
	uint64_t bytes = dataset_bytes / SAMPLES / page * page;

	return bytes < picture ? picture : bytes > largest ? largest : bytes;
}

static int steady_replay(enum cache_id policy, double x, uint64_t dataset_bytes,
			 double *hit, uint32_t parts)
{
	uint64_t bytes = steady_sample_bytes(dataset_bytes);
	double capacity = x * SAMPLES * (double)bytes;
	uint32_t warm = page_cache_warm(x);
	double one = (double)parts / SAMPLES / EPOCHS;
	struct hits_cache *cache =
		hits_cache_new(policy, SAMPLES, (uint64_t)capacity, 0);
	uint32_t *order = calloc(SAMPLES, sizeof(*order));
	int rc = cache != NULL && order != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < parts; i++)
		hit[i] = 0;
	for (uint32_t epoch = 0; rc == 0 && epoch < warm + EPOCHS; epoch++) {
		permutation_fill(order, SAMPLES, 0, epoch);
		for (uint32_t i = 0; i < SAMPLES; i++)
			if (hits_cache_read(cache, order[i], bytes) && epoch >= warm)
				hit[i * parts / SAMPLES] += one;
	}
	hits_cache_free(cache);
	free(order);
	return rc;
}

int steady_over(int policy, double x, uint64_t dataset_bytes, double *hit,
		uint32_t parts)
{
	bool hits = steady_hits(policy, x);

	if (hits && x < 1 && laws[policy].hit == NULL)
		return steady_replay(policy, x, dataset_bytes, hit, parts);
	for (uint32_t i = 0; i < parts; i++)
		hit[i] = hits && x < 1 ? laws[policy].hit(x, (i + .5) / parts) : hits;
	return 0;
}

double steady_mean(int policy, double x, uint64_t dataset_bytes)
{
	double mean;

	if (!steady_hits(policy, x) || x >= 1)
		return steady_hits(policy, x);
	if (laws[policy].mean != NULL)
		return laws[policy].mean(x);
	return steady_replay(policy, x, dataset_bytes, &mean, 1) == 0 ? mean : NAN;
}

double steady_share(int policy, double mean, uint64_t dataset_bytes)
{
	double low = 0, high = 1;

	while (high - low > 1e-4) {
		double x = (low + high) / 2,
		       now = steady_mean(policy, x, dataset_bytes);

		if (isnan(now))
			return NAN;
		*(now < mean ? &low : &high) = x;
	}
	return high;
}
