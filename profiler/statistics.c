#include "profiler/statistics.h"

#include <math.h>
#include <stdlib.h>

/* Keeps Lentz's method away from division by 0. */
static double away_from_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), sum = d;

	for (int m = 1; m <= 300; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd =
			-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double before = sum;

		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		sum *= c * d;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		sum *= c * d;
		if (fabs(sum - before) < 1e-15 * fabs(sum))
			break;
	}
	return sum;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta(double a, double b, double x)
{
	double front =
		exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Share of the distribution outside -t .. t. */
static double outside(double t, double freedom)
{
	return beta(freedom / 2, .5, freedom / (freedom + t * t));
}

double statistics_t(double inside, unsigned freedom)
{
	double low = 1e-6, high = 1;

	if (freedom == 0)
		return NAN;
	while (outside(high, freedom) > 1 - inside && high < 1e9)
		high *= 2;
	while (high - low > 1e-12 * high) {
		double middle = (low + high) / 2;

		if (outside(middle, freedom) > 1 - inside)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static struct interval around(double value, double half)
{
	return (struct interval){value, value - half, value + half};
}

struct interval statistics_jackknife(double full, const double *without, size_t n,
				     double floor)
{
	double mean = 0, squares = 0;

	if (n < 2)
		return (struct interval){full, NAN, NAN};
	for (size_t i = 0; i < n; i++)
		mean += without[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (without[i] - mean) * (without[i] - mean);
	squares *= (double)(n - 1) / (double)n;
	return around(full,
		      statistics_t(.95, (unsigned)(n - 1)) * sqrt(squares) + floor);
}

struct placed {
	double place, value;
};

static int by_place(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	return (a->place > b->place) - (a->place < b->place);
}

struct interval statistics_ordered(double full, const double *without,
				   const double *place, size_t n, double floor)
{
	struct placed *order = n < 2 ? NULL : malloc(n * sizeof(*order));
	double squares = 0;
	unsigned freedom;

	if (order == NULL)
		return statistics_jackknife(full, without, n, floor);
	for (size_t i = 0; i < n; i++)
		order[i] = (struct placed){place[i], without[i]};
	qsort(order, n, sizeof(*order), by_place);
	for (size_t i = 1; i < n; i++)
		squares += (order[i].value - order[i - 1].value) *
			   (order[i].value - order[i - 1].value);
	free(order);
	/* Each difference holds twice the variance; as above scaled by (n-1)^2/n. */
	squares *= (double)(n - 1) / (2 * (double)n);
	/* The differences overlap: together they are worth about two thirds of n - 1.
	 */
	freedom = n < 4 ? 1 : (unsigned)(2 * (n - 1) / 3);
	return around(full, statistics_t(.95, freedom) * sqrt(squares) + floor);
}

struct interval statistics_mean(const double *values, size_t n)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	if (n < 2)
		return (struct interval){n == 0 ? NAN : mean, NAN, NAN};
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return around(mean, statistics_t(.95, (unsigned)(n - 1)) *
				    sqrt(squares / ((double)n * (double)(n - 1))));
}

double statistics_half(struct interval interval)
{
	return (interval.high - interval.low) / 2;
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double statistics_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), ascending);
	return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
