/* hits.c - hit ratios of the policies over x, from steady.h. */
#include "models/cache/hits.h"
#include "loader/base/math/steady.h"

#include <math.h>

#define HITS_NAME(name, NAME) #name,
static const char *const names[CACHE_IDS] = {CACHE_POLICIES(HITS_NAME)};

int hits_over(enum cache_id policy, double x, uint64_t dataset_bytes, double *hit,
	      uint32_t parts)
{
	return steady_over(names[policy], x, dataset_bytes, hit, parts);
}

double hits_mean(enum cache_id policy, double x, uint64_t dataset_bytes)
{
	return steady_mean(names[policy], x, dataset_bytes);
}

double hits_share(enum cache_id policy, double mean, uint64_t dataset_bytes)
{
	double low = 0, high = 1;

	while (high - low > 1e-4) {
		double x = (low + high) / 2, now = hits_mean(policy, x, dataset_bytes);

		if (isnan(now))
			return NAN;
		*(now < mean ? &low : &high) = x;
	}
	return high;
}
