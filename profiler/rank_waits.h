/*
 * rank_waits.h - how long ranks of a job waited for each other in collectives. Pure.
 *
 *	rank 0	      |== waits ====|=====|
 *	rank 1	   |===== waits ====|=====|	a collective begins when the last rank comes,
 *	rank 2			    |=====|	and ends for all of them at about that time
 *
 * Each rank's times are its device's; they are brought to one clock by the smallest lag with
 * which their ends were told, so that two ranks may be apart by as much as that differs:
 * some 10 us.
 */
#ifndef DSA_RANK_WAITS_H
#define DSA_RANK_WAITS_H

#include "loader/base/trace.h"

/* One rank of a communicator, among those whose processes the session has. */
struct rank_wait {
	unsigned communicator; /* counts from 0 */
	uint32_t rank, ranks, pid;
	uint64_t compared; /* collectives that all of them told */
	double inside_s,
		waited_s; /* sums over these: from when it came, to their end; to
				    * when the last one came */
	uint32_t last;    /* the rank that it waited for most, */
	double last_s;    /* and for how long; 0: for none */
};

struct rank_waits {
	struct rank_wait *rows; /* by communicator and rank */
	size_t count;
};

/* 0 or -ENOMEM; rank_waits_free() in any case. */
int rank_waits_read(const struct trace *trace, struct rank_waits *waits);
void rank_waits_free(struct rank_waits *waits);

#endif
