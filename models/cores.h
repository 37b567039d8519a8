/*
 * cores.h - what prep gives with k cores: measured, fitted, or only bounded.
 *
 * Up to the cores of the machine P(k) is what was measured, between points by a line in
 * P(k)/k. Beyond them, with 4 points or more, the Universal Scalability Law (Gunther,
 * Guerrilla Capacity Planning, 2007):
 *
 *	P(k) = a k / (1 + s (k-1) + c k (k-1))		s, c >= 0
 *
 * by least squares in 1/P, with the interval of that fit; else the bounds P(n) and
 * P(n) k/n, and nothing sharper.
 */
#ifndef DSA_CORES_H
#define DSA_CORES_H

#include "profiler/profile.h"

struct error;

enum cores_basis {
	CORES_MEASURED,
	CORES_BETWEEN, /* two measured points */
	CORES_FITTED,  /* beyond the machine, by USL */
	CORES_BOUNDS,  /* beyond the machine, low and high alone; value NAN */
};

struct cores {
	unsigned have; /* cores the run might use, quota included: rounded down, 1 at
			    * least */
	double quota;  /* CPU time a second; NAN: none */
	unsigned physical;        /* of them; less than have: SMT. 0: unknown */
	unsigned points;          /* measured, of P(k) with k <= have */
	struct interval rate[65]; /* [k]: measured P(k), k <= 64; else unknown */
	double a, s, c;           /* of the fit; NAN: none */
	double scatter;           /* relative standard error of the fit's points */
};

/* -ENODATA (err): the profile has no P(k). */
int cores_of(const struct profile *profile, struct cores *cores, struct error *err);

/* P(k) samples/s for prep with k workers on as many cores; *basis may be NULL. */
struct interval cores_rate(const struct cores *cores, unsigned k,
			   enum cores_basis *basis);

/*
 * speed[m], m = 0 .. count-1: how fast each of m threads runs that want to, as a share
 * of one alone (speed[0] = 1), on `available` cores of this kind: P(m) / (m P(1)) up
 * to them, then what they give together stays. `side` -1, 0, 1: low end, value, high
 * end, where they are bounds the middle of the two. A quota caps m * speed[m].
 */
void cores_speeds(const struct cores *cores, unsigned available, int side,
		  double *speed, size_t count);

/*
 * The fewest cores whose P(k), less what compute itself needs (`busy` cores of CPU
 * time at that rate), reaches `per_s`. 0 in *low or *high: more than 4096. Where P(k)
 * is bounded the two differ.
 */
void cores_needed(const struct cores *cores, double per_s, double busy, unsigned *low,
		  unsigned *high);

#endif
