/*
 * cores.h - what prep gives with k cores: measured, fitted, or only bounded.
 *
 * Up to the last point P(k) is what was measured, between points by a line in P(k)/k.
 * Beyond it, with 4 points or more, the Universal Scalability Law with the interval of
 * its fit (usl.h); else the bounds P(n) and P(n) k/n, and nothing sharper.
 *
 * Where two threads share a core (SMT) the law is fitted to as many threads as there
 * are cores, and the gain of the second threads is taken as measured: k threads are
 * k/2 cores of the same kind. A quota holds for the cores of the run; more cores than
 * those are asked for with a quota raised as far.
 */
#ifndef DSA_CORES_H
#define DSA_CORES_H

#include "loader/base/limits.h"
#include "models/predict/usl.h"
#include "profiler/profile.h"

struct error;

enum { CORES_MAX = LIMIT_CORES }; /* workers that a point of P(k) may have */

enum cores_basis {
	CORES_MEASURED,
	CORES_BETWEEN, /* two measured points */
	CORES_FITTED,  /* beyond the last point, by USL */
	CORES_BOUNDS,  /* beyond it, or before the first: low and high alone */
};

struct cores {
	unsigned have;     /* cores the run might use, its quota included; 1 at least */
	double quota;      /* CPU time a second; NAN: none */
	unsigned physical; /* of them; less than have: SMT. 0: unknown */
	unsigned points;   /* measured, of P(k) with k <= have */
	bool assumed;      /* none was: as if each core gave the same */
	unsigned first, last;                /* k of the first and last of them */
	struct interval rate[CORES_MAX + 1]; /* [k]: measured P(k); else unknown */

	struct usl law;         /* freedom 0: none */
	struct interval second; /* gain of second threads, P(have) / P(physical); 1 */
};

/* -ENODATA (err): the profile has no P(k), nor workers that are processes. */
int cores_of(const struct profile *profile, struct cores *cores, struct error *err);

/* P(k) samples/s for prep with k workers on as many cores; *basis may be NULL. */
struct interval cores_rate(const struct cores *cores, unsigned k,
			   enum cores_basis *basis);

/*
 * speed[m], m = 0 .. count-1: how fast each of m threads runs that want to, as a share
 * of one alone (speed[0] = 1), on `available` cores of this kind: P(m) / (m P(1)) up
 * to them, and never above 1; then what they give together stays. `side` -1, 0, 1: low
 * end, value, high end, where they are bounds the middle of the two. On the cores of
 * the run a quota of 2.5 gives what 2 cores do, and half a core more.
 */
void cores_speeds(const struct cores *cores, unsigned available, int side,
		  double *speed, size_t count);

/* One of these on the cores of the run: so fast does each of m threads run. */
double cores_speed(const struct cores *cores, unsigned m);

#endif
