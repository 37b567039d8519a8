/*
 * conductor.h - leads one launch of the target through its windows, and ends it.
 *
 *	start -> first batch asked for -> windows -> stop flag -> the program leaves by
 *	its own door, or after a grace period by SIGTERM, 5 s later by SIGKILL
 *
 * One at a time in a process, which has one thread: it takes every child's end, and
 * leaves SIGINT, SIGTERM, SIGHUP and SIGQUIT blocked, so that what was measured can be
 * written in peace.
 */
#ifndef DSA_CONDUCTOR_H
#define DSA_CONDUCTOR_H

#include "profiler/schedule.h"
#include "profiler/target.h"

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
	double timeout_s;          /* for the first batch to be asked for */
	double grace_s;            /* to leave after the data ended */
	uint64_t steps;            /* stop after so many batches; 0: no such limit */
	struct counters *counters; /* to poll; NULL: none */
	void (*tell)(void *context, const struct conductor_news *news); /* or NULL */
	void *context;
};

enum conductor_why {
	CONDUCTOR_PRECISE,     /* all that was asked for is measured */
	CONDUCTOR_BUDGET,      /* the time is over */
	CONDUCTOR_STEPS,       /* the steps are */
	CONDUCTOR_VOID,        /* windows of a kind can't be certified */
	CONDUCTOR_INTERRUPTED, /* somebody sent us a signal */
	CONDUCTOR_ENDED,       /* the program ended first, with status 0 */
	CONDUCTOR_DIED,        /* or another, or by a signal */
	CONDUCTOR_SILENT,      /* it asked for no batch */
};

struct conductor_end {
	enum conductor_why why;
	char text[256];    /* one line; "" when there is nothing to add */
	int target_status; /* 128 + n by signal */
	bool forced;       /* it did not leave by its own door */
};

/*
 * Runs the target to its end. -errno when it can't be started; 0 otherwise, whatever
 * became of it. When it returns, no process of it is left.
 */
int conduct(const struct conductor_config *config, struct target_config *target,
	    struct trace *trace, struct conductor_end *end, struct error *err);

#endif
