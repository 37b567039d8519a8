/*
 * certificate_made.h - does a window of a loader that the program brought prove itself? By
 * batches that its processes made, not by moments: struct trace_made.
 */
#ifndef DSA_CERTIFICATE_MADE_H
#define DSA_CERTIFICATE_MADE_H

#include "profiler/session/window.h"

/*
 * As certificate_check(), of a window that ended with steps:
 *
 *	synthetic	no batch made; copies that the program changed cost little
 *	loaded		batches made; as of a synthetic and of a cached one otherwise
 *	cached, prep, real	batches made, each of which opened and read what it did when it
 *			was listed
 *	cached, prep	of what they read hardly any came from storage, or no more than
 *			four pages while all of it lay in memory
 *	real		as cached; with drawn hits what was evicted did; with an emulated
 *			storage its latency or bandwidth held reads back
 */
bool certificate_made(struct window *window);

#endif
