/*
 * driven.h - a loader in a session of a test's own, and the windows that the test asks
 * its driver for.
 */
#ifndef DSA_TESTS_DRIVEN_H
#define DSA_TESTS_DRIVEN_H

#include "loader/base/trace.h"
#include "loader/loader.h"

enum { DRIVEN_SAMPLES = 300, DRIVEN_BATCH = 8 };

extern struct driven {
	struct trace *trace;
	struct dsa_loader *loader;
} driven;

/* Of a test with a session, which ends with its loader. */
int driven_setup(void **state);
int driven_teardown(void **state);

/* Opens the loader, of one picture over and over, two workers and three batches ahead. */
void driven_open(const char *settings);

/* Asks for a window that settles for 2 steps, takes 8 and a millisecond. */
struct trace_window *driven_ask(enum trace_kind kind);

struct driven_audit {
	unsigned seen[DRIVEN_SAMPLES]; /* times a sample came, repeats left out */
	unsigned batches, repeated;
};

/* Takes batches until the window (NULL: the data) is over or `most` came; counts what
 * was delivered. */
void driven_train(const struct trace_window *window, struct driven_audit *audit,
		  unsigned most);

/* What a window counted. */
uint64_t driven_counted(const struct trace_window *window, enum trace_counter counter);

#endif
