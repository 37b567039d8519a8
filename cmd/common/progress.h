/* progress.h - one line on the terminal that is written over: how far a job is. */
#ifndef DSA_PROGRESS_H
#define DSA_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* True when standard error is a terminal, and the user does not want quiet. */
bool progress_wanted(bool quiet);

/* Wipes the line. Returns where the next one is to be written, without its end. */
FILE *progress_line(void);

/* Wipes the line, if one stands there: before other output, and at the end. */
void progress_clear(void);

/* Of a job that counts things, with the time left; nothing where there is no terminal. */
struct progress {
	const char *things; /* what is counted: "pictures" */
	size_t total;
	uint64_t start, next; /* clock_now(): of the job, of the next line */
};

void progress_begin(struct progress *progress, const char *things, size_t total);

/* Shows that so many are done; context: a struct progress. May be called often, by one
 * thread at a time. */
void progress_show(void *context, size_t done);

/* The same of a job that learns only on the way how many there are. */
void progress_show_of(void *context, size_t done, size_t all);

#endif
