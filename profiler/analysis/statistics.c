/* statistics.c - jackknife and differences of neighbours. */
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

static int by_place(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	return (a->place > b->place) - (a->place < b->place);
}

/* How far the block alone is from the estimate. */
static double placed_apart(const struct placed *block, double full)
{
	return (1 / block->part - 1) * (full - block->without);
}

/* What the block is off the line between its neighbours, squared: on average as much as
 * the variance of one block. */
static double placed_square(const struct placed *block, double full)
{
	double gap = block[1].place - block[-1].place;
	double after = gap > 0 ? (block->place - block[-1].place) / gap : .5;
	double off = placed_apart(block, full) -
		     (1 - after) * placed_apart(block - 1, full) -
		     after * placed_apart(block + 1, full);

	return off * off / (1 + (1 - after) * (1 - after) + after * after);
}

struct interval statistics_ordered(double full, struct placed *blocks, size_t n,
				   double floor)
{
	double squares = 0, parts = 0;

	qsort(blocks, n, sizeof(*blocks), by_place);
	for (size_t i = 1; i + 1 < n; i++)
		squares += placed_square(&blocks[i], full) / (double)(n - 2);
	for (size_t i = 0; i < n; i++)
		parts += blocks[i].part * blocks[i].part;
	/* The lines overlap: together they are worth about half of n - 2. */
	return statistics_around(
		full, statistics_half(squares * parts, (unsigned)(n - 2) / 2, floor));
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
