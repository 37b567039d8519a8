/* quadrature.h - the sum of errors that are independent. */
#ifndef DSA_QUADRATURE_H
#define DSA_QUADRATURE_H

#include <math.h>

/*
 * The root of the sum of squares; NAN if one is. What hypot() does for numbers near the
 * ends of a double's range is not needed of errors, and a program that calls the hypot()
 * of glibc 2.35 does not run with an older one.
 */
static inline double quadrature(double x, double y)
{
	return sqrt(x * x + y * y);
}

#endif
