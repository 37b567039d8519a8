/*
 * gate_statistics.h - the statistics of a gate. Pure functions of numbers that say how
 * much worse something is: positive is worse.
 *
 * Tests are exact permutation tests of ranks (Wilcoxon 1945): under the hypothesis that
 * nothing got worse each sign, or each grouping, is as likely as any other, and all of
 * them are counted. Ties take their mean rank, zeros keep theirs (Pratt 1959). Bounds
 * are those shifts that the test does not refuse (Hodges and Lehmann 1963), and with
 * ties they hold at least as often as they say (Noether 1967); Holm 1979 for several
 * metrics.
 */
#ifndef DSA_GATE_STATISTICS_H
#define DSA_GATE_STATISTICS_H

#include <stddef.h>

/* What the samples say of a shift. */
struct gate_shift {
	double value; /* Hodges-Lehmann estimate; NAN: no samples */
	/* One-sided bounds, each at 1 - alpha; infinite: n is too small. */
	double low, high;
	double p;      /* that it is 0 or less */
	double better; /* that it is 0 or more */
	double spread; /* standard deviation of one difference, robust (Shamos 1976);
			  NAN of fewer than 2; 0 only if all are the same */
};

enum { GATE_PAIRS_MOST = 64 };

/* Differences of n <= GATE_PAIRS_MOST pairs, each one of both sides measured next to
 * each other. */
void gate_statistics_paired(const double *worse, size_t n, double alpha,
			    struct gate_shift *shift);

/* Two independent samples: values that say how bad each is, so that now - base is how
 * much worse it got. At most GATE_PAIRS_MOST each. 0 or -ENOMEM. */
int gate_statistics_unpaired(const double *base, size_t n, const double *now, size_t m,
			     double alpha, struct gate_shift *shift);

/* The smallest p that n pairs, or groups of n and m, can reach. */
double gate_statistics_least_paired(size_t n);
double gate_statistics_least_unpaired(size_t n, size_t m);

/* Pairs whose smallest p is below alpha > 0 with `metrics` of them at once, all at the
 * first of Holm's levels. */
size_t gate_statistics_pairs_for(double alpha, unsigned metrics);

/* At most GATE_PAIRS_MOST p values adjusted for each other, in place; NAN stays. */
void gate_statistics_holm(double *p, size_t count);

/*
 * The smallest change beyond the limit that n pairs like those which had this spread
 * find with probability .95: what their one-sided bound at level alpha < .5 lies below
 * the estimate, and what that moves (Student's t, and 3/pi for the efficiency of
 * ranks). That the spread itself is an estimate is in it. With noise > 0 the bound is
 * to be beyond gate_statistics_noise() at that level, and not beyond a limit. Infinite
 * where n pairs have no bound, and for fewer than 4.
 */
double gate_statistics_detectable(double spread, size_t n, double alpha, double noise);

/*
 * What n pairs that differ in nothing, with this spread, are found to differ by, or by
 * more, with probability alpha < .5. NAN for fewer than 4.
 */
double gate_statistics_noise(double spread, size_t n, double alpha);

#endif
