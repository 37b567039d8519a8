/* session.h - hand-made sessions: what a driver would have written, without one. */
#ifndef DSA_TESTS_SESSION_H
#define DSA_TESTS_SESSION_H

#include "loader/base/trace.h"

struct session_window {
	enum trace_kind kind;
	unsigned flags;
	int block;
	unsigned workers, depth;
	double hit;
	unsigned steps, samples;    /* measured; samples of a step */
	double step_ms, blocked_ms; /* each */
	unsigned fetched, prepared; /* samples, */
	unsigned hits;              /* and those that the cache had */
	unsigned sample_bytes;      /* 0: 100,000 */
	unsigned copied_bytes;      /* to a device */
};

/* An empty session with a loader: batch 32, 4 workers, 6 slots. NULL: no memory. */
struct trace *session_new(void);
void session_free(struct trace *trace);

/*
 * Adds a window that ended, its bytes from storage as they should be. Returns it; its
 * step records are at trace->steps[window->first_step].
 */
struct trace_window *session_add(struct trace *trace,
				 const struct session_window *asked);

/* The same for a window that was asked for already: what the driver did. */
void session_answer(struct trace *trace, struct trace_window *window,
		    const struct session_window *did);

/* Gives a window's samples `prep_ms` each, settling batches included. */
void session_samples(struct trace *trace, struct trace_window *window, double prep_ms);

#endif
