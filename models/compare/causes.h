/*
 * causes.h - why two runs differ, in words, the largest effect first.
 *
 *	fetch stall +18.2 points: mean read fell from 128 KiB to 4 KiB in shards/
 */
#ifndef DSA_CAUSES_H
#define DSA_CAUSES_H

#include "profiler/profile.h"

enum { CAUSES_MOST = 8, CAUSE_TEXT = 240 };

struct causes {
	char text[CAUSES_MOST][CAUSE_TEXT];
	bool slows[CAUSES_MOST]; /* something got slower by it, or may have */
	unsigned count;
};

/*
 * What explains the way from `base` to `now`: stalls that grew with the counts, sizes,
 * settings and environment that changed beside them; settings alone when nothing grew.
 * Says nothing that is within the interval of either, or below half a percent; of two
 * observed runs, that no interval is known.
 */
void causes_find(const struct profile *base, const struct profile *now,
		 struct causes *causes);

#endif
