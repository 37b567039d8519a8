/*
 * launch.h - one launch of the program with a session of its own.
 */
#ifndef DSA_LAUNCH_H
#define DSA_LAUNCH_H

#include "profiler/machine.h"
#include "profiler/measure.h"

#include <limits.h>

struct counters;
struct error;
struct trace;

enum { LAUNCH_FOLDER = PATH_MAX - 16 }; /* a session's name has room behind it */

struct launch {
	const struct measure_config *config; /* its budget and protocol apart */
	const struct machine *machine;
	struct counters *counters; /* to poll; NULL: none */
	double budget_s;
	int only;  /* the one kind of window; -1: all */
	bool rate; /* only is TRACE_REAL, in whole epochs where they fit */
	bool observe;
};

/* The folder's path as the program finds it from anywhere. 0 or -errno. */
int launch_folder(const char *folder, char path[LAUNCH_FOLDER], struct error *err);

/*
 * Runs the program to its end with the session `trace`, made at `path`. 0 or -errno as
 * conduct().
 */
int launch_run(const struct launch *launch, const char *path, struct trace *trace,
	       struct conductor_end *end, struct error *err);

#endif
