/* hits.c - names of policies, and their hit ratios over x from steady.h. */
#include "models/cache/hits.h"
#include "loader/base/choice.h"
#include "loader/base/math/steady.h"

#include <math.h>

#define HITS_NAME(name, NAME) #name,
static const char *const names[HITS_POLICIES] = {CACHE_POLICIES(HITS_NAME)};

int hits_policy(const char *name)
{
	return choice_find(CACHE_POLICY_NAMES, name);
}

const char *hits_policy_name(enum hits_policy policy)
{
	return names[policy];
}

int hits_over(enum hits_policy policy, double x, uint64_t dataset_bytes, double *hit,
	      uint32_t parts)
{
	return steady_over(names[policy], x, dataset_bytes, hit, parts);
}

double hits_mean(enum hits_policy policy, double x, uint64_t dataset_bytes)
{
	return steady_mean(names[policy], x, dataset_bytes);
}

double hits_share(enum hits_policy policy, double mean, uint64_t dataset_bytes)
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
