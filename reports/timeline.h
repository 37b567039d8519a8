/*
 * timeline.h - what a run did and when, in the Trace Event Format that ui.perfetto.dev and
 * chrome://tracing show.
 *
 * A session is a process there, with a track of windows, one of the program's steps and what
 * of each it waited, one of each process that made batches, and one of each kind of work of
 * each device. Times are those of CLOCK_MONOTONIC in microseconds, so that it can be laid
 * beside what other tools recorded.
 */
#ifndef DSA_TIMELINE_H
#define DSA_TIMELINE_H

#include <stdio.h>

struct error;
struct trace;

/* Of launches of one program, or of the first of several jobs; then those of the others. */
struct timeline {
	const struct trace *const *sessions;
	unsigned launches, count;
};

/* A file_fill of a struct timeline. */
int timeline_write(FILE *out, const void *timeline, struct error *err);

#endif
