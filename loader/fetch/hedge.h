/*
 * hedge.h - when a request is sent a second time, as its answer is late. Private to
 * loader/fetch/; of one thread; knows no clock.
 *
 * The 99th percentile of what the last answers took is late (Dean and Barroso, The Tail
 * at Scale, 2013, hedged requests). Of one that was hedged, no more is counted than what
 * it had taken then: that it would have been late is known, how late is not.
 */
#ifndef DSA_HEDGE_H
#define DSA_HEDGE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HEDGE_KEPT = 512,   /* answers that are looked at */
	HEDGE_LEAST = 100,  /* that are needed before anything is late */
	HEDGE_ONE_IN = 20,  /* requests is hedged at the most, */
	HEDGE_AT_ONCE = 16, /* and so many at a time */
};

struct hedge {
	uint64_t requests, hedged; /* first ones, and second ones */
	unsigned under_way;        /* of the second ones */
	uint64_t late_ns;          /* 0: not known yet */
	uint32_t answers;          /* kept: of the last ones, in turn */
	uint64_t kept[HEDGE_KEPT];
};

/* A request took so long; of a hedged one, until it was. */
void hedge_answer(struct hedge *hedge, uint64_t took_ns);

/* One more may be sent, by what all of them may cost. */
bool hedge_may(const struct hedge *hedge);

#endif
