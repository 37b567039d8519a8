/* measure_rate.c - one launch with real windows alone. */
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/analysis/rate.h"
#include "profiler/run/jobs.h"
#include "profiler/run/launch.h"

#include <errno.h>
#include <math.h>

/* Explains why no window was measured. */
static int measure_rate_fail(const struct measure_config *config,
			     const struct conductor_end *end, struct error *err)
{
	if (end->text[0] != '\0')
		return error_set(err, ENODATA, "no rate was measured: %s", end->text);
	return error_set(err, ETIMEDOUT,
			 "%g s is too short to measure a rate: raise --budget",
			 config->budget_s);
}

/* The rate of one job, or of all together; hits are then the mean of all jobs. */
static int conclude_rate(const struct conductor_job *jobs, unsigned count,
			 struct measure_rate *rate)
{
	const struct trace *traces[BARRIER_JOBS];
	double hits = 0, prep_cpu_s;
	int result = rate_measure(jobs[0].trace, rate);

	if (result < 0 || count == 1)
		return result;
	for (unsigned i = 0; result == 0 && i < count; i++) {
		struct measure_rate own;

		traces[i] = jobs[i].trace;
		result = rate_measure(jobs[i].trace, &own);
		hits += own.hit_ratio / count;
	}
	if (result == 0)
		result = jobs_together(traces, count, &rate->per_s, &prep_cpu_s);
	rate->hit_ratio = hits;
	if (isnan(rate->per_s.value))
		rate->windows = 0;
	return result;
}

static const char *who_left(const struct conductor_job *jobs, unsigned count)
{
	for (unsigned i = 0; count > 1 && i < count; i++)
		if (jobs[i].left[0] != '\0')
			return jobs[i].left;
	return NULL;
}

static int measure_rate_conclude(const struct launch *launch,
				 const struct conductor_job *jobs,
				 const struct conductor_end *end,
				 struct measure_rate *rate, struct error *err)
{
	unsigned count = launch_jobs(launch->config);
	const char *left = who_left(jobs, count);

	if (end->why == CONDUCTOR_INTERRUPTED)
		return error_set(err, EINTR, "interrupted: %s", end->text);
	if (left != NULL)
		return error_set(err, ENODATA, "no rate was measured: a job %s", left);
	if (conclude_rate(jobs, count, rate) < 0)
		return error_sys(err, ENOMEM, "measuring a rate");
	return rate->windows > 0 ? 0 : measure_rate_fail(launch->config, end, err);
}

int measure_rate(const struct measure_config *config, struct measure_rate *rate,
		 struct error *err)
{
	struct conductor_job jobs[BARRIER_JOBS];
	struct machine machine;
	struct launch launch = {
		.config = config,
		.machine = &machine,
		.budget_s = config->budget_s,
		.only = TRACE_REAL,
		.rate = true,
		.trial = true,
		.most_gets = launch_most_gets(config),
	};
	struct conductor_end end;
	int result = launch_open(&launch, "session.rate", jobs, err), closed;

	if (result == 0) {
		machine_read(&machine, "");
		result = launch_run(&launch, jobs, &end, err);
	}
	if (result == 0)
		result = measure_rate_conclude(&launch, jobs, &end, rate, err);
	closed = launch_close(&launch, err);
	launch_remove_sessions(jobs, launch_jobs(config));
	return closed < 0 ? closed : result;
}
