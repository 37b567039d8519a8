/*
 * sharing.h - several copies of a job at once on one machine: each with a loader of its
 * own, or all with one.
 *
 *	unshared	rate of a job = min(G, P(all workers) / jobs, F, S / jobs): the
 *			loaders meet on the cores and at the storage, which gives S to
 *			the reads of all; an emulated one (F) is each loader's own.
 *			Every sample is prepared once for each
 *	shared		rate of a job = min(G of the slowest, P, F): it is prepared once
 *
 * (Mohan et al., Analyzing and Mitigating Data Stalls, VLDB 2021, section 5:
 * coordinated prep.) The simulation follows both; here is what it is given, and what
 * comes of it beside rates. Each job is taken to have an accelerator to itself. Private
 * to models/.
 */
#ifndef DSA_SHARING_H
#define DSA_SHARING_H

#include "profiler/profile_prediction.h"

struct cost_use;
struct error;
struct sim_setup;
struct simulation_outcome;

enum { SHARING_WINDOW = 8 }; /* batches: dsa serve's default */

/* -EINVAL, and err: "no such change: " and what a change may be. */
int sharing_refuse(struct error *err, const char *what);

/* -EINVAL (err) when what the change says of jobs makes no sense. */
int sharing_check(const struct profile *profile, const struct profile_change *change,
		  struct error *err);

/* After a change. A job's speed is a factor over the run's accelerator. */
unsigned sharing_jobs(const struct profile *profile,
		      const struct profile_change *change);
bool sharing_is_shared(const struct profile *profile,
		       const struct profile_change *change);
double sharing_speed(const struct profile_change *change, unsigned job);

/* True when rates are of several jobs, or the change asks for a number of them. */
bool sharing_is_asked(const struct profile *profile,
		      const struct profile_change *change);

/* What one of so many jobs takes up of what they all do: of an epoch that each goes
 * through. */
void sharing_split(const struct sim_setup *setup, struct cost_use *use);

/* Notes the memory, reads and cores that all take, and as `why` what is assumed. 0 or
 * -ENOMEM. */
int sharing_note(const struct profile *profile, const struct sim_setup *setup,
		 const struct simulation_outcome *outcome,
		 struct profile_prediction *out);

#endif
