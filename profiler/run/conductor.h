/*
 * conductor.h - leads one launch of the target through its windows, and ends it.
 *
 *	start -> first batch asked for -> windows -> stop flag -> the program leaves by
 *	its own door, or after a grace period by SIGTERM, 5 s later by SIGKILL
 *
 * Several jobs at once are led through the same windows in step (barrier.h). The first
 * one decides which come next; what delivers nothing it does alone, while the others
 * wait, so that its curves are those of one job. A job that ends, asks for no batch or
 * hangs leaves, and its data ends; the others go on. A loader that they share takes
 * part: it starts before them, and does alone what delivers nothing.
 *
 * One at a time in a process, which has one thread: it takes every child's end, and
 * leaves SIGINT, SIGTERM, SIGHUP and SIGQUIT blocked, so that what was measured can be
 * written in peace.
 */
#ifndef DSA_CONDUCTOR_H
#define DSA_CONDUCTOR_H

#include "profiler/run/barrier.h"
#include "profiler/run/target.h"
#include "profiler/schedule/schedule.h"

#include <limits.h>

struct counters;
struct error;
struct trace;

/* How far a launch is, for a progress line. */
struct conductor_news {
	double elapsed_s, budget_s; /* since the first batch was asked for */
	const struct shares *shares;
	unsigned windows; /* that ended */
};

struct conductor_config {
	struct schedule_config schedule;
	bool observe;
	double timeout_s; /* for the first batch to be asked for, by each */
	double stall_s;   /* without a step forward, after the first batch: it hangs; 0:
			   * it may */
	double grace_s;   /* to leave after the data ended */
	uint64_t steps; /* stop when each job took so many batches; 0: no such limit */
	uint64_t
		samples; /* the data ends with the batch that reaches so many; 0: not so;
			   * UNKNOWN: CONDUCTOR_SAMPLES, or what the data set has */
	struct counters *counters; /* to poll, of the first job; NULL: none */
	/* The loader that the jobs share, in a process of its own; NULL: each its own. */
	struct conductor_job *loader;
	void (*progress)(void *context,
			 const struct conductor_news *news); /* or NULL */
	void *context;
};

enum { CONDUCTOR_SAMPLES = 4096 };

enum conductor_why {
	CONDUCTOR_PRECISE,     /* all that was asked for is measured */
	CONDUCTOR_BUDGET,      /* the time is over */
	CONDUCTOR_STEPS,       /* the steps are, or the samples */
	CONDUCTOR_VOID,        /* windows of a kind can't be certified */
	CONDUCTOR_INTERRUPTED, /* somebody sent us a signal */
	CONDUCTOR_ENDED,       /* the program ended first, with status 0 */
	CONDUCTOR_DIED,        /* or another, or by a signal */
	CONDUCTOR_SILENT,      /* it asked for no batch */
	CONDUCTOR_HUNG,        /* it asked for some, and then for no more */
};

struct conductor_end {
	enum conductor_why why;
	char text[256]; /* one line; "" when there is nothing to add */
	int signal;     /* that somebody sent us, if only on the way out; 0: none */
};

enum { CONDUCTOR_LEFT = 160 };

/* One program of the launch, and what became of it. */
struct conductor_job {
	struct target_config target; /* its mask and session are the conductor's */
	struct trace *trace;
	char session[PATH_MAX]; /* where the trace lies: absolute path */

	int target_status;         /* 128 + n by signal; -1: it never ended */
	bool forced;               /* it did not leave by its own door */
	char left[CONDUCTOR_LEFT]; /* why before the run was over; "": it did not */
};

/*
 * Runs 1 to BARRIER_JOBS programs to their end. -errno when one can't be started; 0
 * otherwise, whatever became of them. When it returns, no process of them is left.
 */
int conduct(const struct conductor_config *config, struct conductor_job *jobs,
	    unsigned count, struct conductor_end *end, struct error *err);

#endif
