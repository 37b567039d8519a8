/*
 * launch.h - one launch of the program with a session of its own.
 */
#ifndef DSA_LAUNCH_H
#define DSA_LAUNCH_H

#include "profiler/host/machine.h"
#include "profiler/run/conductor/conductor.h"
#include "profiler/run/measure.h"

#include <limits.h>

struct counters;
struct error;

enum { LAUNCH_FOLDER = PATH_MAX - 32 }; /* a session's name has room behind it */

struct launch {
	const struct measure_config *config; /* except its budget and protocol */
	const struct machine *machine;
	struct counters *counters; /* to poll; NULL: none */
	double budget_s;
	int only;  /* the one kind of window; -1: all */
	bool rate; /* only is TRACE_REAL, in whole epochs where they fit */
	bool observe;
	bool trial;       /* of no further use: what it overwrote is put back */
	uint64_t samples; /* as in conductor_config: where the data ends */
	/* Length of the one block of windows, whatever the budget; 0: as many blocks as
	 * the precision takes. */
	double block_s;
	uint64_t most_gets;     /* the same: of each job */
	double stall_s;         /* as in conductor_config */
	struct preload preload; /* launch_open()'s */
};

/* The folder's path as the program finds it from anywhere. 0 or -errno. */
int launch_folder(const char *folder, char path[LAUNCH_FOLDER], struct error *err);

/* How many programs it runs at once: 1 to BARRIER_JOBS. */
unsigned launch_jobs(const struct measure_config *config);

/* What each of them may ask servers for, of config->most_gets. */
uint64_t launch_most_gets(const struct measure_config *config);

/* A job's command, to be ended with profile_free_texts(). NULL: memory is short. */
char **launch_command(const struct measure_config *config, unsigned job);

/* A file of a job's in the run's folder, of a job other than 0: PATH_MAX bytes. */
void launch_job_path(char *path, const char *folder, unsigned job, const char *file);

/*
 * Makes what the launch needs in config->folder: a session for each job, of which `name` is
 * that of job 0's, "session" those of all others, in folders job-1, job-2 ...; and the page
 * of a program that brings its own loader. 0 or -errno; jobs whose trace is then NULL have
 * none. launch_close() ends it in either case, except for the sessions: 0, or -EIO where a
 * trial's files could not be put back, which err tells whatever it had.
 */
int launch_open(struct launch *launch, const char *name, struct conductor_job *jobs,
		struct error *err);
int launch_close(struct launch *launch, struct error *err);

/* Removes them, and folders that hold nothing else. */
void launch_remove_sessions(struct conductor_job *jobs, unsigned count);

/*
 * Runs the programs to their end. Each of `jobs` has a session. 0 or -errno as
 * conduct().
 */
int launch_run(const struct launch *launch, struct conductor_job *jobs,
	       struct conductor_end *end, struct error *err);

#endif
