/* sharing.c - what several jobs ask for, take up and assume. */
#include "models/predict/sharing.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/limits.h"
#include "models/predict/cost.h"
#include "models/predict/sim_setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SPEED_LEAST .1
#define SPEED_MOST  10
#define SAME        .005 /* rates of jobs that differ by less are the same */

/* ---- what is asked ---- */

int sharing_refuse(struct error *err, const char *what)
{
	return error_set(err, EINVAL, "no such change: %s", what);
}

static unsigned speeds_of(const struct profile_change *change)
{
	unsigned count = 0;

	while (count < PROFILE_SPEEDS && change->job_speed[count] != 0)
		count++;
	return count;
}

int sharing_check(const struct profile *profile, const struct profile_change *change,
		  struct error *err)
{
	unsigned speeds = speeds_of(change);

	if (change->jobs > LIMIT_JOBS)
		return sharing_refuse(err, "jobs are " LIMIT_RANGE(LIMIT_JOBS));
	if (change->share && change->jobs == 0 && profile->job_count < 2)
		return sharing_refuse(err, "how many jobs share a loader? (--jobs)");
	if (profile->world != UNKNOWN &&
	    (change->cores > 0 || change->jobs > 0 || change->share || change->libdsa ||
	     change->storage_bandwidth > 0))
		return error_set(err, ENODATA,
				 "ranks share cores and storage: of several dsa "
				 "predicts only what each has by itself, such as "
				 "--workers");
	if (speeds > 0 && speeds != change->jobs)
		return sharing_refuse(err, "a speed for each job, or for none");
	for (unsigned i = 0; i < speeds; i++)
		if (!(change->job_speed[i] >= SPEED_LEAST &&
		      change->job_speed[i] <= SPEED_MOST))
			return sharing_refuse(
				err, "a job's accelerator is 0.1 to 10 times as "
				     "fast as it was");
	return 0;
}

/* Of the run. */
static unsigned jobs_then(const struct profile *profile)
{
	if (profile->job_count < 1)
		return 1;
	return profile->job_count < SIMULATION_JOBS ? (unsigned)profile->job_count
						    : SIMULATION_JOBS;
}

unsigned sharing_jobs(const struct profile *profile,
		      const struct profile_change *change)
{
	return change->jobs > 0 ? change->jobs : jobs_then(profile);
}

bool sharing_is_shared(const struct profile *profile,
		       const struct profile_change *change)
{
	return change->share || (change->jobs == 0 && profile->shared);
}

double sharing_speed(const struct profile_change *change, unsigned job)
{
	return job < PROFILE_SPEEDS && change->job_speed[job] > 0
		       ? change->job_speed[job]
		       : 1;
}

bool sharing_is_asked(const struct profile *profile,
		      const struct profile_change *change)
{
	return change->jobs > 0 || jobs_then(profile) > 1;
}

/* ---- what it takes ---- */

void sharing_split(const struct sim_setup *setup, struct cost_use *use)
{
	const struct simulation_load *load = &setup->load;

	use->cores /= load->jobs;
	use->dataset_bytes /= load->jobs;
	if (load->shared || load->policy == CACHE_PAGE) /* one for all */
		use->cache_bytes /= load->jobs;
	if (!load->shared)
		return;
	use->traffic.reads /= load->jobs;
	use->traffic.listing /= load->jobs;
	use->traffic.out_bytes /= load->jobs;
}

/* Of rings and caches; NAN: unknown. The kernel's cache is nobody's. */
static double memory_of(const struct profile *profile, const struct sim_setup *setup)
{
	const struct simulation_load *load = &setup->load;
	bool cached = load->share > 0 && load->policy != CACHE_PAGE &&
		      profile->disk_cache.hits == UNKNOWN;
	double batch = (double)load->batch * (double)profile->sample_bytes;
	double all = (double)profile->dataset_bytes * setup->stored;
	double cache = cached ? load->share * all : 0;

	if (profile->sample_bytes == UNKNOWN ||
	    (cached && profile->dataset_bytes == UNKNOWN))
		return NAN;
	return load->shared ? load->window * batch + cache
			    : load->jobs * (load->ahead * batch + cache);
}

/* Bytes/s that they read; NAN: unknown. */
static double reads_of(const struct profile *profile, const struct sim_setup *setup,
		       const struct simulation_outcome *outcome)
{
	double all = outcome->per_s * (1 - outcome->hit_ratio) *
		     storage_sample_bytes(profile) * setup->stored;

	if (inputs_from_memory(profile))
		return 0;
	return setup->load.shared ? all / setup->load.jobs : all;
}

/* Cores that prep keeps busy. */
static double prep_cores_of(const struct simulation_load *load,
			    const struct simulation_outcome *outcome)
{
	double each = 0;

	for (size_t i = 0; i < load->draw_count; i++)
		each += load->prep_scale * load->draws[i].prep_s /
			(double)load->draw_count;
	return each * outcome->per_s / (load->shared ? load->jobs : 1);
}

static bool sharing_differ(const struct simulation_load *load,
			   const struct simulation_outcome *outcome)
{
	for (unsigned i = 1; i < load->jobs; i++)
		if (fabs(outcome->job_per_s[i] / outcome->job_per_s[0] - 1) > SAME)
			return true;
	return false;
}

/* Where they are not all the same. */
static void sharing_write_rates(FILE *to, const struct simulation_load *load,
				const struct simulation_outcome *outcome)
{
	if (!sharing_differ(load, outcome))
		return;
	fputs("; jobs get", to);
	for (unsigned i = 0; i < load->jobs; i++)
		fprintf(to, "%s %.0f", i > 0 ? "," : "", outcome->job_per_s[i]);
	fputs(" samples/s", to);
}

static bool is_uneven(const struct simulation_load *load)
{
	for (unsigned i = 1; i < load->jobs; i++)
		if (load->job_compute_s[i] != load->job_compute_s[0])
			return true;
	return false;
}

/* What is taken for granted. */
static void sharing_write_assumed(FILE *to, const struct profile *profile,
				  const struct simulation_load *load)
{
	bool page = load->share > 0 && load->share < 1 && load->policy == CACHE_PAGE;

	if (load->shared) {
		fputs("an accelerator for each job; one loader for all", to);
		if (is_uneven(load))
			fputs(", at the pace of the slowest", to);
		return;
	}
	fputs("an accelerator and a loader for each job", to);
	if (load->throttled)
		fputs(", each with the emulated storage to itself", to);
	else if (!profile->storage_is_memory && !inputs_from_memory(profile))
		fputs(", one storage for all", to);
	if (page)
		fputs("; they read in one order, and what one reads the kernel's cache "
		      "has for the others",
		      to);
}

int sharing_note(const struct profile *profile, const struct sim_setup *setup,
		 const struct simulation_outcome *outcome,
		 struct profile_prediction *out)
{
	char *fresh = NULL;
	size_t size;
	FILE *to = open_memstream(&fresh, &size);

	if (to == NULL)
		return -ENOMEM;
	sharing_write_assumed(to, profile, &setup->load);
	sharing_write_rates(to, &setup->load, outcome);
	if (io_text(to, &fresh) == NULL)
		return -ENOMEM;
	free(out->why);
	out->why = fresh;
	out->memory_bytes = memory_of(profile, setup);
	out->read_bytes_per_s = reads_of(profile, setup, outcome);
	out->prep_cores = prep_cores_of(&setup->load, outcome);
	return 0;
}
