/*
 * progress.h - one line on a terminal that says how far a long job is and how long it
 * will still take. Says nothing when standard error is no terminal.
 */
#ifndef DSA_PROGRESS_H
#define DSA_PROGRESS_H

#include <stdint.h>

struct progress {
	const char *things; /* what is counted: "pictures" */
	uint64_t total;
	uint64_t start, next; /* clock_now(): of the job, of the next line */
	int shown;            /* a line stands there */
};

void progress_begin(struct progress *progress, const char *things, uint64_t total);

/* So many are done. May be called often; one thread at a time. */
void progress_show(struct progress *progress, uint64_t done);

/* Wipes the line. */
void progress_end(struct progress *progress);

#endif
