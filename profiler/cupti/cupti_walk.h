/* cupti_walk.h - buffers of records -> spans of the session. */
#ifndef DSA_CUPTI_WALK_H
#define DSA_CUPTI_WALK_H

#include "profiler/cupti/cupti_spans.h"

#include <pthread.h>

/* Begins as zeros, but for api, spans.trace, spans.pid and adding. */
struct cupti_watch {
	struct cupti_api api;
	struct cupti_spans spans;
	pthread_mutex_t adding; /* to spans; never held while CUPTI is called */
	_Atomic bool
		ending; /* what is not complete now never will be: it is not lost */
};

/*
 * Adds the first `valid` bytes of a buffer, which the library itself walks: it knows
 * how long its records are. Where it knows a record no longer the rest counts as lost,
 * by the length of a common record, but not as the program ends: then it has come to
 * what is not complete. Threads may do so at once.
 */
void cupti_walk(struct cupti_watch *watch, uint8_t *buffer, size_t valid);

#endif
