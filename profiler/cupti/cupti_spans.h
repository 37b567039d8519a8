/*
 * cupti_spans.h - what a device did -> spans of the session, whose room is fixed.
 *
 * Work of a kind that begins less than 20 us after the last of that kind joins its
 * span. From half of the room on these pauses may be longer, twice as long for each
 * half of what is left; where nothing is left all joins the latest span. Records come
 * in the order in which they were launched, by threads apart, so that work may join one
 * of the last few spans at either end, or fill pauses within it.
 */
#ifndef DSA_CUPTI_SPANS_H
#define DSA_CUPTI_SPANS_H

#include "loader/base/trace.h"
#include "profiler/cupti/cupti_record.h"

enum { CUPTI_RECENT = 4 }; /* spans that work may join */

#define CUPTI_PAUSE_NS 20000

struct cupti_recent {
	struct cupti_open {
		struct trace_span *span; /* NULL: none */
		uint64_t solid_ns;       /* from there to its end it has no pause */
	} open[CUPTI_RECENT];            /* the latest first */
};

/* Begins as zeros, but for the first two. One thread at a time adds. */
struct cupti_spans {
	struct trace *trace;
	uint32_t pid;
	struct cupti_recent recent[CUPTI_DEVICES][TRACE_WORKS];
};

/* False: there was no room, and no span to join. */
bool cupti_spans_add(struct cupti_spans *spans, const struct cupti_work *work);

#endif
