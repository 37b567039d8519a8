/* statistics.c - jackknife and successive differences. */
#include "profiler/analysis/statistics.h"
#include "loader/base/math/quadrature.h"
#include "loader/base/math/student.h"

#include <math.h>
#include <stdlib.h>

static struct interval statistics_around(double value, double half)
{
	return (struct interval){value, value - half, value + half};
}

/* Of an error of `squares` with degrees of freedom, and one that no spread shows. */
static double statistics_half(double squares, unsigned freedom, double floor)
{
	return quadrature(student_t(.95, freedom) * sqrt(squares), floor);
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
	return statistics_around(full,
				 statistics_half(squares, (unsigned)(n - 1), floor));
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
	return statistics_around(full, statistics_half(squares, freedom, floor));
}

struct interval statistics_mean(const double *values, size_t n)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += values[i];
	mean /= (double)n; /* once: the mean of ones is 1 */
	if (n < 2)
		return (struct interval){n == 0 ? NAN : mean, NAN, NAN};
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return statistics_around(mean,
				 student_t(.95, (unsigned)(n - 1)) *
					 sqrt(squares / ((double)n * (double)(n - 1))));
}

struct interval statistics_within(struct interval interval, double least, double most)
{
	if (interval.low < least)
		interval.low = fmin(least, interval.value);
	if (interval.high > most)
		interval.high = fmax(most, interval.value);
	return interval;
}
