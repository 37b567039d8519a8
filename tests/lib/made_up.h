/* made_up.h - a loader with no pipeline, of which a test says what it does, and its driver. */
#ifndef DSA_TESTS_MADE_UP_H
#define DSA_TESTS_MADE_UP_H

#include "loader/base/trace.h"
#include "loader/driver.h"

enum {
	MADE_UP_STAGED = 77, /* samples of each window */
	MADE_UP_CACHED_BYTES = 4096,
	MADE_UP_READ_BYTES = 8192,
	MADE_UP_EPOCH_STEPS = 10
};

extern struct made_up {
	struct driver driver;
	struct trace_loader about;
	char log[512];    /* what it was asked for */
	unsigned refuses; /* windows of these kinds: a bit each */
	bool at_rest, delivers, stops;
	uint32_t most;     /* steps that it has batches for in a window */
	uint64_t prepared; /* what it counts itself */
	uint64_t steps;
	unsigned stills;   /* times that devices were waited for, */
	uint64_t still_ns; /* the last one, */
	uint32_t devices;  /* and what that gave */
	uint64_t ahead;    /* samples that are ready, */
	uint64_t comes;    /* and so many more each time that it is asked */
} made_up;

/* Of a test with a session, whose loader it is: ends with driven_teardown(). */
int made_up_begin(void **state);

/* To open a driver of it with. */
struct driver_parts made_up_parts(struct trace_process *process);

/* The step that the program takes; false: there is no batch more. */
bool made_up_step(void);

/* Steps until the window is over. */
void made_up_train(const struct trace_window *window);

#endif
