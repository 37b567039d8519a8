/* size_law.c - quantiles of the log-normal, evenly spread. */
#include "profiler/dataset/draw/size_law.h"
#include "loader/base/random.h"

#include <math.h>

#define SIGMA 0.45  /* of log(size) */
#define EDGE  0.005 /* share of each tail that is not drawn */

/* The normal quantile by Tukey's lambda (Joiner and Rosenblatt, JASA 1971). */
static double normal_quantile(double share)
{
	return (pow(share, 0.1349) - pow(1 - share, 0.1349)) / 0.1975;
}

static double log_normal(double mean, double share)
{
	return mean * exp(SIGMA * normal_quantile(share) - SIGMA * SIGMA / 2);
}

/*
 * Where in the law file n stands, 0 .. 1: steps of the golden section fill the interval
 * evenly.
 */
static double size_share(uint64_t seed, uint32_t number)
{
	uint64_t start = random_seed(seed, 0, 0);
	uint64_t at = start + (uint64_t)number * 0x9e3779b97f4a7c15u;

	return EDGE + (1 - 2 * EDGE) * (double)(at >> 11) * 0x1p-53;
}

double size_law(double mean, uint64_t seed, uint32_t number)
{
	return log_normal(mean, size_share(seed, number));
}

double size_law_most(double mean)
{
	return log_normal(mean, 1 - EDGE);
}
