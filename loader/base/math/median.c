/* median.c - sorts, and takes the middle. */
#include "loader/base/math/median.h"

#include <math.h>
#include <stdlib.h>

int median_ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double median(double *values, size_t n)
{
	if (n == 0)
		return NAN;
	qsort(values, n, sizeof(*values), median_ascending);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}
