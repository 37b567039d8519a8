/*
 * conductor.h - leads one launch of the target through its windows, and ends it.
 *
 *	start -> first batch asked for -> windows -> stop flag -> the program leaves by
 *	its own door, or after a grace period by SIGTERM, 5 s later by SIGKILL
 *
 * Several jobs go through the same windows in step (barrier.h). The first job decides
 * which windows come next. Windows without deliveries (prep-only, fetch-only) run on it
 * alone while the others wait, so that their curves are those of one job. A job that
 * ends, asks for no batch or hangs leaves the launch and its data ends; the others go
 * on. A shared loader takes part: it starts before the jobs, and runs the windows
 * without deliveries.
 *
 * One launch at a time in a process that has one thread: the conductor reaps every
 * child, also those that dsa had before, and leaves SIGINT, SIGTERM, SIGHUP, SIGQUIT,
 * SIGUSR1 and SIGUSR2 blocked, so that the caller can write the result undisturbed.
 */
#ifndef DSA_CONDUCTOR_H
#define DSA_CONDUCTOR_H

#include "profiler/run/conductor/barrier.h"
#include "profiler/run/conductor/target.h"
#include "profiler/schedule/schedule.h"

#include <limits.h>

struct counters;
struct error;
struct trace;

/* How far a launch is. */
struct conductor_progress {
	double elapsed_s, budget_s; /* since the first batch was asked for */
	const struct shares *shares;
	bool leaving; /* the data ended: the programs are on their way out */
};

struct conductor_config {
	struct schedule_config schedule;
	bool observe;
	double timeout_s; /* in which each job asks for its first batch */
	double stall_s;   /* a job without progress for so long hangs; 0: no limit */
	double grace_s;   /* for the programs to exit after the data ended */
	uint64_t steps;   /* stop when each job took so many batches; 0: no limit */
	/* The data ends with the batch that reaches so many; 0: it does not; UNKNOWN:
	 * CONDUCTOR_SAMPLES, or as many as the data set has. */
	uint64_t samples;
	bool torch_alone; /* a loader of libdsa's is not measured: its program is ended */
	struct counters *counters; /* to poll, of the first job; NULL: none */
	/* The loader that the jobs share; NULL: each job has its own. */
	struct conductor_job *loader;
	/* Objects that each job may ask servers for: trace.most_gets. */
	uint64_t most_gets;
	/* It does, of a data set of so many samples and bytes; or NULL. */
	void (*bounded)(void *context, uint64_t gets, double bytes);
	void (*repeats)(
		void *context); /* the first window began: data is repeated; or NULL */
	void (*progress)(void *context,
			 const struct conductor_progress *now); /* or NULL */
	/* A program told why it goes on without dsa; NULL: it is ended then. */
	void (*unmeasured)(void *context, const char *why);
	/* What a program does that asked for no batch in timeout_s, and that its end is waited
	 * for: told once; NULL: it is ended then. */
	void (*silent)(void *context, const char *what);
	/* A program's command ended well, and that process, which it had started, is waited
	 * for: told once; or NULL. */
	void (*background)(void *context, pid_t process);
	void *context;
};

enum { CONDUCTOR_SAMPLES = 4096 };

enum conductor_why {
	CONDUCTOR_PRECISE,     /* everything is measured as precisely as asked */
	CONDUCTOR_BUDGET,      /* the budget is used up; */
	CONDUCTOR_REQUESTS,    /* or the objects that may be asked for are */
	CONDUCTOR_STEPS,       /* all steps, or all samples, were delivered */
	CONDUCTOR_VOID,        /* windows of a kind can't be certified */
	CONDUCTOR_INTERRUPTED, /* dsa received a signal, or the program Ctrl-C */
	CONDUCTOR_ENDED,       /* the program ended first, with status 0 */
	CONDUCTOR_DIED,        /* with another status, or by a signal */
	CONDUCTOR_SILENT,      /* it asked for no batch in time, or of none that dsa
				* can measure */
	CONDUCTOR_HUNG,        /* it stopped making progress */
};

struct conductor_end {
	enum conductor_why why;
	char text[256]; /* one line; "" when there is nothing to add */
	int signal;     /* that interrupted, even while the programs ended; 0: none */
	pid_t left;     /* a process of theirs that does not end; 0: none */
};

enum { CONDUCTOR_LEFT = 240 };

/* One program of the launch, and how it ended. */
struct conductor_job {
	struct target_config target; /* its mask and session are the conductor's */
	struct trace *trace;
	char session[PATH_MAX]; /* where the trace lies: absolute path */

	int target_status;         /* 128 + n by signal; -1: it never ended */
	bool forced;               /* it did not exit by itself */
	char left[CONDUCTOR_LEFT]; /* why it left early; "": it did not */
};

/*
 * Runs 1 to BARRIER_JOBS programs to their end. -errno when one can't be started; 0
 * otherwise, however they ended. None of their processes is left when it returns, but
 * what even SIGKILL does not end, which is given up.
 */
int conduct(const struct conductor_config *config, struct conductor_job *jobs,
	    unsigned count, struct conductor_end *end, struct error *err);

#endif
