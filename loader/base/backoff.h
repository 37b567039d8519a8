/*
 * backoff.h - how long a request that failed rests before it is sent again: a random while
 * from 0 to a limit that doubles with each try (Brooker, Exponential Backoff and Jitter,
 * 2015: full jitter).
 */
#ifndef DSA_BACKOFF_H
#define DSA_BACKOFF_H

#include <math.h>

#define BACKOFF_FIRST_S   .1 /* the limit before the second try, */
#define BACKOFF_LONGEST_S 5. /* and before any */

/* Seconds, after `retries` requests beyond the first one. first_s is the first limit; `unit`
 * is drawn from [0, 1). */
static inline double backoff_rest_s(double first_s, unsigned retries, double unit)
{
	return unit * fmin(first_s * exp2(fmin(retries, 16)), BACKOFF_LONGEST_S);
}

#endif
