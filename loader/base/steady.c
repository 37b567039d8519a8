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
#include "loader/base/steady.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct law {
	const char *policy;
	double (*hit)(double x, double s), (*mean)(double x); /* 0 < x < 1 */
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

static const struct law laws[] = {
	{"minio", share_hit, share_mean}, {"nextuse", share_hit, share_mean},
	{"lru", lru_hit, lru_mean},       {"page", lru_hit, lru_mean},
	{"fifo", fifo_hit, fifo_mean},    {"random", random_hit, random_mean},
};

static const struct law *law_of(const char *policy)
{
	for (size_t i = 0; i < sizeof(laws) / sizeof(laws[0]); i++)
		if (strcmp(laws[i].policy, policy) == 0)
			return &laws[i];
	return NULL;
}

double steady_hit(const char *policy, double x, double s)
{
	const struct law *law = law_of(policy);

	if (law == NULL || !(x > 0))
		return 0;
	return x < 1 ? law->hit(x, s) : 1;
}

double steady_mean(const char *policy, double x)
{
	const struct law *law = law_of(policy);

	if (law == NULL || !(x > 0))
		return 0;
	return x < 1 ? law->mean(x) : 1;
}
