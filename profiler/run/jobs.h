/*
 * jobs.h - several jobs of one run: their commands, and their common result.
 */
#ifndef DSA_JOBS_H
#define DSA_JOBS_H

#include "profiler/profile.h"

struct conductor_job;
struct trace;

/* A copy of the command with {job} in each of its words replaced by the job's number;
 * profile_free_texts() frees it. NULL: memory is short. */
char **jobs_command(char *const *command, unsigned job);

/* The numbered command as one line for a shell (malloc). NULL: memory is short. */
char *jobs_text(char *const *command, unsigned job);

/*
 * Samples/s of all jobs together: the sum of their rates in real windows, over the
 * blocks that all of them have; -ENOMEM, or 0 with an unknown rate where there is none.
 * *prep_cpu_s is the CPU time of prep per sample that a job got in these windows.
 */
int jobs_together(const struct trace *const *traces, unsigned count,
		  struct interval *per_s, double *prep_cpu_s);

/*
 * Adds job number `job`, from the profile of its own session, which may be the same
 * profile. `ended` is how it ended; NULL: unknown. 0 or -ENOMEM.
 */
int jobs_add(struct profile *profile, unsigned job, const struct profile *own,
	     const struct conductor_job *ended);

/* Adds what servers were asked for by a job with a loader of its own. */
void jobs_add_requests(struct profile *profile, const struct profile *own);

/*
 * Share of the time of a job's synthetic windows that it was blocked: where it shares
 * its loader, it waited for other jobs. NAN: not known.
 */
double jobs_held_up(const struct profile *own);

/* Sets what a job's session says of the loader that it shares: the batches that this
 * had ready for it in real windows, on average, and whether the job left it. */
void jobs_set_shared(struct profile_job *job, const struct trace *trace);

/*
 * Records for each job that waits for a shared loader which job it waits for:
 * held_up[i] is jobs_held_up() of profile->jobs[i]. 0 or -ENOMEM.
 */
int jobs_write_waits(struct profile *profile, const double *held_up);

#endif
