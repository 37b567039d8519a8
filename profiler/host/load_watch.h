/*
 * load_watch.h - writes into the sessions of a launch what else the machine did during
 * each window.
 *
 * The kernel counts CPU time in clock ticks: a window shorter than LOAD_WATCH_LEAST_NS
 * has the load of so long a time, at whose end it lies.
 */
#ifndef DSA_LOAD_WATCH_H
#define DSA_LOAD_WATCH_H

#include "profiler/host/host_load.h"

#include <stdbool.h>

#define LOAD_WATCH_LEAST_NS UINT64_C(250000000)

enum { LOAD_WATCH_PAST = 32 };

struct children;
struct trace;

struct load_watch {
	struct host_load_config host;
	bool knows_disk;   /* it was looked for */
	uint32_t window;   /* the one that is watched, or comes next */
	uint64_t since;    /* of an observed run: its window's switch_ns */
	bool begun;        /* it is being measured, */
	unsigned begun_at; /* and this is the moment when that was seen first */
	/* The last moments, number i at i % LOAD_WATCH_PAST. */
	struct host_load past[LOAD_WATCH_PAST];
	unsigned taken;
};

/* For a launch that may use so many of the CPUs; 0: all. The run's own processes are
 * this one and its descendants, but for `others`, which outlive the watch. */
void load_watch_init(struct load_watch *watch, unsigned cores,
		     const struct children *others);

/*
 * Looks how far the windows of the first session are, which the others go through in
 * step. Call it often, and before anybody reads windows that ended: what happens between
 * two calls is missed at a window's ends.
 */
void load_watch_poll(struct load_watch *watch, struct trace *const *traces,
		     unsigned count);

#endif
