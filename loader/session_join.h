/*
 * session_join.h - the place in a session (DSA_SESSION) where a process with a loader
 * counts.
 */
#ifndef DSA_SESSION_JOIN_H
#define DSA_SESSION_JOIN_H

#include "loader/base/trace.h"

struct error;
struct options;

struct enlisted {
	struct trace *trace;           /* NULL: no session, or no room in it */
	struct trace_process *process; /* in the session, or own */
	struct trace_process *own;
	uint64_t before[TRACE_COUNT]; /* counted by loaders that closed */
};

/* 0, or -errno: a session of another version, no memory. session_join_close() either
 * way. */
int session_join_open(struct enlisted *enlisted, const struct options *options,
		      struct error *err);
void session_join_close(struct enlisted *enlisted);

/* What this loader counted. */
uint64_t session_join_counter(const struct enlisted *enlisted,
			      enum trace_counter which);

/* True if a loader drove and closed, and one with these options loads what the session
 * describes: the same data in batches of the same size. */
bool session_join_continues(const struct trace *trace, const struct options *options);

#endif
