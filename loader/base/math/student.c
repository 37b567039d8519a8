/* student.c - inverts the distribution by Newton's method, from 0 on: as the density falls, it
 * comes nearer from below. */
#include "loader/base/math/student.h"

#include <math.h>

enum { STEPS = 200 }; /* three times as many as alpha 1e-7 takes */

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
static double student_beta(double a, double b, double x)
{
	double front =
		exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Share of the distribution outside -t .. t. */
static double student_outside(double t, double freedom)
{
	return student_beta(freedom / 2, .5, freedom / (freedom + t * t));
}

/* What it loses, from t on, per unit of t. */
static double student_density(double t, double freedom)
{
	return 2 *
	       exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2) -
		   (freedom + 1) / 2 * log1p(t * t / freedom)) /
	       sqrt(freedom * M_PI);
}

double student_t(double inside, unsigned freedom)
{
	double t = 0, step = INFINITY;

	if (freedom == 0)
		return NAN;
	for (int i = 0; i < STEPS && step > 1e-12 * t && t < 1e9; i++) {
		step = (student_outside(t, freedom) - (1 - inside)) /
		       student_density(t, freedom);
		t += step;
	}
	return t;
}
