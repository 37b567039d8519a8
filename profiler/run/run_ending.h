/*
 * run_ending.h - what a result says of how its run ended: status, reason, and for a run
 * that was too short what would have been enough.
 */
#ifndef DSA_RUN_ENDING_H
#define DSA_RUN_ENDING_H

#include "profiler/profile.h"

#include <stdbool.h>

struct conductor_end;
struct trace;

struct run_ending {
	const struct conductor_end *end; /* of the last launch */
	const struct trace *trace;       /* of the program */
	unsigned job;                    /* its number, and of several jobs why it */
	const char *left; /* left before the others; "" when it did not */
	double budget_s;
	bool observed;
	bool forced; /* a program did not leave by itself */
};

/* True where a program died, or trains no more, beyond the end of its epoch, as its data was
 * repeated. */
bool run_ending_overran(const struct conductor_end *end, const struct trace *trace);

/* Sets status, status_why and, where shares are missing, budget_needed_s of an analysed
 * profile. 0 or -ENOMEM. */
int run_ending_set(const struct run_ending *ending, struct profile *profile);

#endif
