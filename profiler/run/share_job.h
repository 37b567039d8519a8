/*
 * share_job.h - the loader that the jobs of a run share, in a process started by the
 * run.
 */
#ifndef DSA_SHARE_JOB_H
#define DSA_SHARE_JOB_H

#include "profiler/run/conductor/conductor.h"
#include "profiler/run/launch.h"

struct error;

struct share_job {
	struct conductor_job job;
	char folder[LAUNCH_FOLDER], socket[PATH_MAX];
	char dataset[512], *settings;
	const char *device; /* of the loader; NULL: none */
};

/*
 * Finds out what the programs load and how: starts each that is different with a loader
 * of its own, for one batch. Then makes the session of the loader that they are to
 * share, in the run's folder, with the socket. -EINTR: somebody sent us a signal;
 * -errno. share_job_close() ends it either way.
 */
int share_job_open(struct share_job *share, const struct launch *launch,
		   struct error *err);
void share_job_close(struct share_job *share);

/* Removes the files that it leaves in a run's folder when dsa dies. */
void share_job_forget(const char *folder);

#endif
