/* usl.c - fits the law by least squares, no term below 0. */
#include "models/predict/usl.h"
#include "loader/base/math/student.h"

enum { PRIOR_WEIGHT = 1 }; /* points that the errors said count for, beside scatter */

/* Normal equations, and what solves them. */
struct system {
	double normal[3][3], right[3];
	double terms[3];
	double squares; /* of the residuals, each in its point's error */
};

static void factors_of(double k, double factors[3])
{
	factors[0] = 1;
	factors[1] = k - 1;
	factors[2] = k * (k - 1);
}

static double usl_dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void usl_add_point(struct system *system, const struct usl_point *point)
{
	double y = point->k / point->rate;
	double weight = 1 / (y * point->error * y * point->error);
	double factors[3];

	factors_of(point->k, factors);
	for (int i = 0; i < 3; i++) {
		system->right[i] += weight * factors[i] * y;
		for (int j = 0; j < 3; j++)
			system->normal[i][j] += weight * factors[i] * factors[j];
	}
}

/* Makes column i that of the unit matrix. Positive definite: no need to swap rows. */
static bool usl_eliminate(double work[3][3], double inverse[3][3], int i)
{
	double pivot = work[i][i];

	if (!(pivot > 1e-14))
		return false;
	for (int j = 0; j < 3; j++) {
		work[i][j] /= pivot;
		inverse[i][j] /= pivot;
	}
	for (int row = 0; row < 3; row++) {
		double factor = row == i ? 0 : work[row][i];

		for (int j = 0; j < 3; j++) {
			work[row][j] -= factor * work[i][j];
			inverse[row][j] -= factor * inverse[i][j];
		}
	}
	return true;
}

/*
 * Inverts the part of the matrix whose rows are in `free` (bits); the rest becomes 0.
 * Scaled to a diagonal of 1 first, since k (k-1) grows large. False: singular.
 */
static bool usl_invert(double matrix[3][3], unsigned free, double inverse[3][3])
{
	double scale[3], work[3][3];

	for (int i = 0; i < 3; i++)
		scale[i] = (free >> i & 1) != 0 && matrix[i][i] > 0
				   ? 1 / sqrt(matrix[i][i])
				   : 0;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			inverse[i][j] = i == j;
			work[i][j] = scale[i] > 0 && scale[j] > 0
					     ? matrix[i][j] * scale[i] * scale[j]
					     : inverse[i][j];
		}
	for (int i = 0; i < 3; i++)
		if (!usl_eliminate(work, inverse, i))
			return false;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			inverse[i][j] *= scale[i] * scale[j];
	return true;
}

static double squares_of(const double terms[3], const struct usl_point *points,
			 size_t count)
{
	double squares = 0;

	for (size_t i = 0; i < count; i++) {
		double factors[3], residual;

		factors_of(points[i].k, factors);
		residual = usl_dot(terms, factors) * points[i].rate / points[i].k - 1;
		residual /= points[i].error;
		squares += residual * residual;
	}
	return squares;
}

/* Least squares of the terms in `free`, the others 0; false: one comes out negative. */
static bool usl_solve(struct system *system, unsigned free,
		      const struct usl_point *points, size_t count)
{
	double inverse[3][3];

	if (!usl_invert(system->normal, free, inverse))
		return false;
	for (int i = 0; i < 3; i++) {
		system->terms[i] = usl_dot(inverse[i], system->right);
		if (system->terms[i] < 0)
			return false;
	}
	system->squares = squares_of(system->terms, points, count);
	return true;
}

/* Of the four ways to leave out s and c the best of those with no negative term. */
static bool solve_bounded(struct system *system, const struct usl_point *points,
			  size_t count)
{
	struct system best = {.squares = INFINITY};

	for (unsigned free = 1; free < 8; free += 2)
		if (usl_solve(system, free, points, count) &&
		    system->squares < best.squares)
			best = *system;
	*system = best;
	return isfinite(best.squares);
}

/*
 * The scatter of so few points is itself rough. Their errors as said count for
 * PRIOR_WEIGHT points more: a scaled inverse chi-squared prior of the variance (Gelman
 * and others, Bayesian Data Analysis, 3rd edition, 3.2), which makes the error of the
 * fit Student's t with as many freedoms more. The covariance is that of all three
 * terms even where one is held at 0: it could be a little more.
 */
static bool usl_take(struct system *system, size_t count, struct usl *usl)
{
	double inverse[3][3], variance;

	if (!usl_invert(system->normal, 7, inverse))
		return false;
	usl->freedom = (unsigned)count - 3 + PRIOR_WEIGHT;
	usl->t = student_t(.95, usl->freedom);
	variance = (PRIOR_WEIGHT + system->squares) / usl->freedom;
	for (int i = 0; i < 3; i++) {
		usl->terms[i] = system->terms[i];
		for (int j = 0; j < 3; j++)
			usl->covariance[i][j] = variance * inverse[i][j];
	}
	usl->scatter = USL_LEAST_ERROR * sqrt(system->squares / (double)(count - 3));
	return true;
}

bool usl_fit(const struct usl_point *points, size_t count, struct usl *usl)
{
	struct system system = {.squares = 0};

	*usl = (struct usl){.scatter = NAN};
	if (count < USL_POINTS)
		return false;
	for (size_t i = 0; i < count; i++)
		usl_add_point(&system, &points[i]);
	return solve_bounded(&system, points, count) && usl_take(&system, count, usl);
}

struct interval usl_rate(const struct usl *usl, double k)
{
	double factors[3], y, variance = 0, half;

	factors_of(k, factors);
	y = usl_dot(usl->terms, factors);
	for (int i = 0; i < 3; i++)
		variance += factors[i] * usl_dot(usl->covariance[i], factors);
	half = usl->t * sqrt(variance);
	return (struct interval){k / y, k / (y + half),
				 half < y ? k / (y - half) : INFINITY};
}
