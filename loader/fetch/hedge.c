/* hedge.c - keeps what answers took, and finds what is late. */
#include "loader/fetch/hedge.h"

#include <stdlib.h>
#include <string.h>

enum { ANEW = 32 }; /* answers after which it is found anew */

static int hedge_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t hedge_late(const struct hedge *hedge)
{
	uint32_t count = hedge->answers < HEDGE_KEPT ? hedge->answers : HEDGE_KEPT;
	uint64_t sorted[HEDGE_KEPT];

	memcpy(sorted, hedge->kept, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), hedge_compare);
	return sorted[count - 1 - count / 100];
}

void hedge_answer(struct hedge *hedge, uint64_t took_ns)
{
	hedge->kept[hedge->answers++ % HEDGE_KEPT] = took_ns;
	if (hedge->answers == 2 * HEDGE_KEPT)
		hedge->answers = HEDGE_KEPT;
	if (hedge->answers == HEDGE_LEAST ||
	    (hedge->answers > HEDGE_LEAST && hedge->answers % ANEW == 0))
		hedge->late_ns = hedge_late(hedge);
}

bool hedge_may(const struct hedge *hedge)
{
	return hedge->late_ns > 0 && hedge->under_way < HEDGE_AT_ONCE &&
	       (hedge->hedged + 1) * HEDGE_ONE_IN <= hedge->requests;
}
