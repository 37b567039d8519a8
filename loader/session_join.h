/*
 * session_join.h - the place in a session (DSA_SESSION) where a process with a loader
 * counts.
 */
#ifndef DSA_SESSION_JOIN_H
#define DSA_SESSION_JOIN_H

struct error;
struct trace;
struct trace_process;

struct enlisted {
	struct trace *trace;           /* NULL: no session, or no room in it */
	struct trace_process *process; /* in the session, or own */
	struct trace_process *own;
};

/* 0, or -errno: a session of another version, no memory. session_join_close() either
 * way. */
int session_join_open(struct enlisted *enlisted, struct error *err);
void session_join_close(struct enlisted *enlisted);

#endif
