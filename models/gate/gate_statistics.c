/* gate_statistics.c - ranks, their null distributions, bounds, and what they reach. */
#include "models/gate/gate_statistics.h"
#include "loader/base/math/median.h"
#include "loader/base/math/quadrature.h"
#include "loader/base/math/student.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = GATE_PAIRS_MOST, WALSH_MOST = MOST * (MOST + 1) / 2 };

#define GAP_TO_SD 1.0483 /* 1 / (sqrt(2) * the normal quantile of .75) */
#define PI        3.14159265358979323846

/*
 * Twice the mean rank of each of n values, so that it is whole: all that are smaller
 * count 2, all that are equal 1, and itself another 1.
 */
static void rank_twice(const double *values, size_t n, unsigned *twice)
{
	for (size_t i = 0; i < n; i++) {
		twice[i] = 1;
		for (size_t j = 0; j < n; j++)
			twice[i] +=
				2 * (values[j] < values[i]) + (values[j] == values[i]);
	}
}

/* ---- one sample of differences ---- */

/*
 * null[s]: how likely ranks add up to s when each counts or not, as a coin falls.
 * Returns the largest sum.
 */
static size_t signed_null(const unsigned *ranks, size_t n, double *null)
{
	size_t sum = 0;

	null[0] = 1;
	for (size_t i = 0; i < n; i++) {
		memset(null + sum + 1, 0, ranks[i] * sizeof(*null));
		sum += ranks[i];
		for (size_t s = sum + 1; s-- > 0;)
			null[s] = (null[s] + (s >= ranks[i] ? null[s - ranks[i]] : 0)) /
				  2;
	}
	return sum;
}

/* Of differences times `sign`. Signs of those that are 0 are nothing to throw a coin for. */
static double signed_p(const double *worse, size_t n, double sign)
{
	double sizes[MOST] = {0}, null[2 * WALSH_MOST + 1], p = 0;
	unsigned ranks[MOST], tossed[MOST];
	size_t observed = 0, sum, tosses = 0;

	for (size_t i = 0; i < n; i++)
		sizes[i] = fabs(worse[i]);
	rank_twice(sizes, n, ranks);
	for (size_t i = 0; i < n; i++) {
		if (sizes[i] > 0)
			tossed[tosses++] = ranks[i];
		if (sign * worse[i] > 0)
			observed += ranks[i];
	}
	sum = signed_null(tossed, tosses, null);
	for (size_t s = sum + 1; s-- > observed;)
		p += null[s];
	return fmin(p, 1);
}

/* ---- bounds ---- */

/* How many of the smallest sums together are no likelier than alpha. */
static size_t tail_count(const double *null, size_t count, double alpha)
{
	double below = 0;
	size_t k = 0;

	while (k < count && (below += null[k]) <= alpha * (1 + 1e-12))
		k++;
	return k;
}

/* From all estimates that pairs of values make, sorted, of which a test at alpha
 * refuses the k outermost on a side. */
static void set_bounds(struct gate_shift *shift, const double *estimates, size_t count,
		       size_t k)
{
	shift->low = k > 0 ? estimates[k - 1] : -INFINITY;
	shift->high = k > 0 ? estimates[count - k] : INFINITY;
}

static double plain_sd(const double *values, size_t n)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return n < 2 ? NAN : sqrt(squares / (double)(n - 1));
}

/*
 * Of few values the deviations from the median (MAD) say too little: 8 of them give
 * 40 % this or that way, gaps between any two of them 30 %. Values that a coarse clock
 * rounded may have no gap in the median.
 */
static double robust_sd(const double *values, size_t n)
{
	double gaps[WALSH_MOST], robust;
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			gaps[count++] = fabs(values[i] - values[j]);
	robust = GAP_TO_SD * median(gaps, count);
	return robust == 0 ? plain_sd(values, n) : robust;
}

static const struct gate_shift unknown = {NAN, -INFINITY, INFINITY, NAN, NAN, NAN};

/* Estimates are the means of any two differences, or one with itself (Walsh). */
void gate_statistics_paired(const double *worse, size_t n, double alpha,
			    struct gate_shift *shift)
{
	double walsh[WALSH_MOST], null[WALSH_MOST + 1];
	unsigned ranks[MOST];
	size_t count = 0;

	*shift = unknown;
	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		ranks[i] = (unsigned)i + 1;
		for (size_t j = i; j < n; j++)
			walsh[count++] = (worse[i] + worse[j]) / 2;
	}
	shift->value = median(walsh, count);
	set_bounds(shift, walsh, count,
		   tail_count(null, signed_null(ranks, n, null), alpha));
	shift->p = signed_p(worse, n, 1);
	shift->better = signed_p(worse, n, -1);
	shift->spread = robust_sd(worse, n);
}

/* ---- two samples ---- */

/*
 * How likely each sum is of m ranks drawn out of n: sums 0 .. *most, the caller's to
 * free. NULL: memory is short.
 */
static double *drawn_null(const unsigned *ranks, size_t n, size_t m, size_t *most)
{
	size_t width = 1;
	double *ways, all = 0;

	for (size_t i = 0; i < n; i++)
		width += ranks[i];
	ways = calloc((m + 1) * width, sizeof(*ways));
	if (ways == NULL)
		return NULL;
	ways[0] = 1; /* ways[c * width + s]: to draw c that add up to s */
	for (size_t i = 0; i < n; i++)
		for (size_t c = i + 1 < m ? i + 1 : m; c > 0; c--)
			for (size_t s = ranks[i]; s < width; s++)
				ways[c * width + s] +=
					ways[(c - 1) * width + s - ranks[i]];
	for (size_t s = 0; s < width; s++)
		all += ways[m * width + s];
	for (size_t s = 0; s < width; s++)
		ways[s] = ways[m * width + s] / all;
	*most = width - 1;
	return ways;
}

/* The values of `now` come after those of `base` in `all`. 0 or -ENOMEM. */
static int drawn_p(const double *all, size_t n, size_t m, double *p)
{
	unsigned ranks[2 * MOST];
	size_t observed = 0, most;
	double *null;

	rank_twice(all, n + m, ranks);
	null = drawn_null(ranks, n + m, m, &most);
	if (null == NULL)
		return -ENOMEM;
	for (size_t i = n; i < n + m; i++)
		observed += ranks[i];
	*p = 0;
	for (size_t s = most + 1; s-- > observed;)
		*p += null[s];
	*p = fmin(*p, 1);
	free(null);
	return 0;
}

/* 0 or -ENOMEM. */
static int drawn_tail(size_t n, size_t m, double alpha, size_t *k)
{
	unsigned ranks[2 * MOST];
	size_t least = m * (m + 1) / 2, most;
	double *null;

	for (size_t i = 0; i < n + m; i++)
		ranks[i] = (unsigned)i + 1;
	null = drawn_null(ranks, n + m, m, &most);
	if (null == NULL)
		return -ENOMEM;
	*k = tail_count(null + least, most - least, alpha);
	free(null);
	return 0;
}

int gate_statistics_unpaired(const double *base, size_t n, const double *now, size_t m,
			     double alpha, struct gate_shift *shift)
{
	double estimates[MOST * MOST], all[2 * MOST];
	size_t count = 0, k;

	*shift = unknown;
	if (n == 0 || m == 0)
		return 0;
	memcpy(all, base, n * sizeof(*all));
	memcpy(all + n, now, m * sizeof(*all));
	if (drawn_p(all, n, m, &shift->p) < 0 || drawn_tail(n, m, alpha, &k) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n + m; i++)
		all[i] = -all[i];
	if (drawn_p(all, n, m, &shift->better) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++)
			estimates[count++] = now[j] - base[i];
	shift->value = median(estimates, count);
	set_bounds(shift, estimates, count, k);
	shift->spread = quadrature(robust_sd(base, n), robust_sd(now, m));
	return 0;
}

/* ---- what can be reached ---- */

double gate_statistics_least_paired(size_t n)
{
	return ldexp(1, -(int)n);
}

double gate_statistics_least_unpaired(size_t n, size_t m)
{
	double least = 1;

	for (size_t i = 1; i <= m; i++)
		least *= (double)i / (double)(n + i);
	return least;
}

size_t gate_statistics_pairs_for(double alpha, unsigned metrics)
{
	size_t n = 1;

	while (n < 1024 && metrics * gate_statistics_least_paired(n) >= alpha)
		n++;
	return n;
}

void gate_statistics_holm(double *p, size_t count)
{
	double raw[MOST], before = -1, adjusted = 0;
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		raw[i] = p[i];
		left += !isnan(p[i]);
	}
	while (left > 0) {
		double least = INFINITY;
		size_t same = 0;

		for (size_t i = 0; i < count; i++)
			if (raw[i] > before)
				least = fmin(least, raw[i]);
		adjusted = fmin(1, fmax(adjusted, (double)left * least));
		for (size_t i = 0; i < count; i++)
			if (raw[i] == least) {
				p[i] = adjusted;
				same++;
			}
		before = least;
		left -= same;
	}
}

/*
 * The quantile .95 of the noncentral t distribution, as Johnson and Welch 1940 come
 * near it: `unbiased` is what a standard deviation of the sample is of the true one.
 */
static double noncentral_t(double noncentrality, double unbiased)
{
	double z = 1.6449, square = unbiased * unbiased, rest = 1 - square;

	return (noncentrality * unbiased +
		z * sqrt(square + rest * (noncentrality * noncentrality - z * z))) /
	       (square - z * z * rest);
}

/*
 * In standard deviations, the bound lies t s / sqrt(n) below the mean of the next n,
 * where mean and s are their own: together about normal. What that is in deviations of
 * the n that were seen, which are as uncertain, is noncentral t.
 */
double gate_statistics_detectable(double spread, size_t n, double alpha, double noise)
{
	double t, unbiased, mean, sd;

	if (n < 4 || gate_statistics_least_paired(n) > alpha)
		return INFINITY;
	t = student_t(1 - 2 * alpha, (unsigned)n - 1);
	if (noise > 0)
		t += student_t(1 - 2 * noise, (unsigned)n - 1);
	unbiased = 1 - 1 / (4 * (double)(n - 1));
	mean = t * unbiased;
	sd = sqrt(1 + t * t * (1 - unbiased * unbiased));
	return sd * noncentral_t(mean / sd, unbiased) * spread /
	       sqrt((double)n * 3 / PI);
}

double gate_statistics_noise(double spread, size_t n, double alpha)
{
	if (n < 4)
		return NAN;
	return student_t(1 - 2 * alpha, (unsigned)n - 1) * spread /
	       sqrt((double)n * 3 / PI);
}
