/*
 * usl.h - the Universal Scalability Law through measured points.
 *
 *	P(k) = a k / (1 + s (k-1) + c k (k-1))		a > 0; s, c >= 0
 *
 * (Gunther, Guerrilla Capacity Planning, 2007, chapter 4.) In k/P it is linear,
 *
 *	k/P = 1/a + s/a (k-1) + c/a k (k-1)
 *
 * so weighted least squares finds it without a search.
 */
#ifndef DSA_USL_H
#define DSA_USL_H

#include "profiler/profile.h"

enum { USL_POINTS = 4 }; /* fewer do not determine three unknowns */

/* The relative standard error of a point that was measured once, at the least. */
#define USL_LEAST_ERROR .01

struct usl_point {
	double k, rate; /* both above 0 */
	double error;   /* relative standard error of the rate, above 0 */
};

struct usl {
	double terms[3];         /* 1/a, s/a, c/a */
	double covariance[3][3]; /* of them */
	unsigned freedom;        /* of the covariance; 0: no fit */
	double t;                /* Student's, 95 %, of that freedom */
	double scatter;          /* relative standard error that a point turned out to
				  * have, where USL_LEAST_ERROR was said */
};

/* False: fewer than USL_POINTS, or they do not determine all three. */
bool usl_fit(const struct usl_point *points, size_t count, struct usl *usl);

/* P(k), k > 0, with the 95 % interval of the fit; high is INFINITY where the points
 * leave it open. */
struct interval usl_rate(const struct usl *usl, double k);

#endif
