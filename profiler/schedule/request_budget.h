/*
 * request_budget.h - how many objects windows ask servers for: what those seen did, and what
 * the next one may. Private to profiler/schedule/.
 */
#ifndef DSA_REQUEST_BUDGET_H
#define DSA_REQUEST_BUDGET_H

#include "loader/base/trace.h"

#include <stdbool.h>

/* Zero at first. */
struct request_budget {
	double per_s[TRACE_KINDS]; /* the most that a window of the kind asked for in a
				    * second of it and its switch; of fetch windows for
				    * each request in flight */
	uint64_t gets, time_ns;    /* at the end of the last window seen */
	double hits; /* the share of what was read so far that a cache on disk had */
};

/* A window ended; those before it have been learned. */
void request_budget_learn(struct request_budget *budget,
			  const struct trace_loader *loader,
			  const struct trace_window *raw);

/* Objects that the session's data may still ask for, INFINITY: any number. */
double request_budget_left(const struct trace *trace);

/* What a window may ask for, that takes so many seconds with its switch. */
double request_budget_of(const struct request_budget *budget,
			 const struct trace_loader *loader,
			 const struct trace_window *ask, double seconds);

#endif
