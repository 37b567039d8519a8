/* measure.c - launches the program, and makes a result of the sessions. */
#include "profiler/run/measure.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/analysis/analyse.h"
#include "profiler/analysis/profile_fill.h"
#include "profiler/bench/other_inputs.h"
#include "profiler/bench/own_pictures.h"
#include "profiler/bench/own_recipe.h"
#include "profiler/host/counters.h"
#include "profiler/run/describe_run.h"
#include "profiler/run/jobs.h"
#include "profiler/run/launch.h"
#include "profiler/run/run_ending.h"
#include "profiler/run/run_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SEPARATE = 3 }; /* launches of a protocol of that name, without a device */

struct measurement {
	const struct measure_config *config;
	struct measure_config own; /* of one that is started once more */
	struct machine machine;
	struct profile *profile;
	struct trace *traces[ANALYSE_SESSIONS]; /* of launches */
	unsigned launches;
	struct conductor_job jobs[BARRIER_JOBS]; /* of the last launch */
	struct counters *counters;
	struct conductor_end end;
	struct launch launch; /* the last one */
	uint64_t started;
};

/* Writes into a session what it is of. */
static int write_about(const struct measurement *m, unsigned job, struct trace *trace)
{
	const struct describe_run run = {
		.config = m->config,
		.machine = &m->machine,
		.protocol = m->config->protocol,
		.budget_s = m->config->budget_s,
		.precision = m->config->precision,
	};

	return describe_run(&run, job, trace);
}

static int measure_open_sessions(struct measurement *m, struct error *err)
{
	char name[16];
	int result;

	run_folder_session_name(name, m->launches);
	result = launch_open(&m->launch, name, m->jobs, err);
	if (result == 0 && m->launches == 0)
		run_folder_hold(m->jobs[0].session);
	if (m->jobs[0].trace != NULL)
		m->traces[m->launches++] = m->jobs[0].trace;
	for (unsigned i = 0; result == 0 && i < launch_jobs(m->config); i++)
		if (write_about(m, i, m->jobs[i].trace) < 0)
			result = error_sys(err, ENOMEM, "describing the run");
	return result;
}

/* Of the budget. Of separate launches the first, of real windows, tells how many there
 * will be. */
static double measure_part(const struct measurement *m)
{
	double first = 1. / SEPARATE;

	if (m->config->protocol != MEASURE_SEPARATE)
		return 1;
	return m->launches == 0
		       ? first
		       : (1 - first) / (stage_count(&m->traces[0]->loader) - 1);
}

/* Objects that each job of the next launch may ask servers for. */
static uint64_t measure_most_gets(const struct measurement *m)
{
	uint64_t most = launch_most_gets(m->config), taken = 0;

	if (most == 0 || (most == TRACE_ONE_EPOCH && m->launches == 0))
		return most;
	if (most == TRACE_ONE_EPOCH)
		most = m->traces[0]->loader.dataset_samples;
	for (unsigned i = 0; i < m->launches; i++)
		taken += profile_fill_total(m->traces[i], TRACE_wanted_gets);
	return most > taken ? most - taken : 1;
}

/* One launch with a session of its own for each job. */
static int measure_launch(struct measurement *m, int only, struct error *err)
{
	const struct measure_config *config = m->config;
	int result;

	m->launch.trial = true; /* the last one's: each begins with the same files */
	result = launch_close(&m->launch, err);
	if (result < 0)
		return result;
	m->launch = (struct launch){
		.config = config,
		.machine = &m->machine,
		.counters = m->launches == 0 ? m->counters : NULL,
		.only = only,
		.budget_s = config->budget_s * measure_part(m),
		.observe = config->protocol == MEASURE_OBSERVE,
		.most_gets = measure_most_gets(m),
	};
	result = measure_open_sessions(m, err);
	return result < 0 ? result : launch_run(&m->launch, m->jobs, &m->end, err);
}

/* True where epochs that end may keep it from what ended it; not a signal's end, nor that of
 * one that dsa was told to end. */
static bool measure_overran(const struct measurement *m)
{
	int status = m->jobs[0].target_status;
	bool by_signal = status > 128 && sigabbrev_np(status - 128) != NULL;

	return m->jobs[0].trace != NULL && m->end.signal == 0 && !by_signal &&
	       (status > 0 || m->end.why == CONDUCTOR_DIED) &&
	       run_ending_overran(&m->end, m->jobs[0].trace);
}

/* The same launch once more: the one before counts for nothing. */
static int measure_again(struct measurement *m, int only, struct error *err)
{
	if (m->end.why != CONDUCTOR_DIED)
		snprintf(m->end.text, sizeof(m->end.text),
			 "the program ended with status %d", m->jobs[0].target_status);
	if (m->config->overran != NULL)
		m->config->overran(m->config->context, m->end.text);
	m->own = *m->config;
	m->own.startup.own_epochs = true;
	m->config = &m->own;
	trace_unmap(m->traces[--m->launches]);
	m->jobs[0].trace = NULL;
	if (m->launches == 0) {
		counters_close(m->counters);
		m->counters = counters_open(NULL, NULL);
	}
	return measure_launch(m, only, err);
}

/* Of windows of the kind alone; -1: of all kinds. */
static int launch_one(struct measurement *m, int only, struct error *err)
{
	int result = measure_launch(m, only, err);

	if (result == 0 && measure_overran(m))
		result = measure_again(m, only, err);
	if (result == 0 && m->end.why == CONDUCTOR_SILENT)
		result =
			error_set(err, ETIMEDOUT, "%s%s",
				  m->launch.observe && !trace_is_alone(m->jobs[0].trace)
					  ? "nothing was measured: "
					  : "",
				  m->end.text);
	return result;
}

static int launch_all(struct measurement *m, struct error *err)
{
	int result = 0;

	if (m->config->protocol != MEASURE_SEPARATE)
		return launch_one(m, -1, err);
	for (int i = STAGE_REAL; result == 0 && i >= 0; i--) {
		if (i != STAGE_REAL &&
		    !stage_applies((enum stage)i, &m->traces[0]->loader))
			continue;
		result = launch_one(m, (int)stage_table[i].kind, err);
		if (result == 0 && (m->end.why == CONDUCTOR_INTERRUPTED ||
				    trace_is_alone(m->jobs[0].trace)))
			break;
	}
	return result;
}

/* Notes in the result of a job how the last launch ended. */
static int measure_set_status(const struct measurement *m, unsigned job,
			      struct profile *profile)
{
	struct run_ending ending = {
		.end = &m->end,
		.trace = m->jobs[job].trace,
		.job = job,
		.left = m->jobs[job].left,
		.budget_s = m->config->budget_s,
		.observed = m->config->protocol == MEASURE_OBSERVE,
	};

	for (unsigned i = 0; i < launch_jobs(m->config); i++)
		ending.forced |= m->jobs[i].forced;
	profile->target_status = m->jobs[job].target_status;
	profile->wall_s = clock_since(m->started);
	return run_ending_set(&ending, profile);
}

/* The result of one job that is not the first. */
static int conclude_job(struct measurement *m, unsigned job, struct profile *profile,
			double *held_up, struct error *err)
{
	const struct trace *trace = m->jobs[job].trace;
	const struct measure_config *config = m->config;
	char folder[PATH_MAX];
	struct profile own;
	int result;

	profile_init(&own);
	launch_job_path(folder, config->folder, job, "");
	result = write_about(m, job, m->jobs[job].trace);
	if (result == 0)
		result = analyse(&trace, 1, &own, err);
	if (result == 0)
		result = measure_set_status(m, job, &own);
	if (result == 0)
		result = jobs_add(profile, job, &own, &m->jobs[job]);
	if (!config->startup.share)
		jobs_add_requests(profile, &own);
	held_up[job] = jobs_held_up(&own);
	if (result == 0)
		result = jobs_add(&own, job, &own, &m->jobs[job]);
	if (result == 0 && config->keep != NULL)
		result = config->keep(folder, &own, err);
	profile_free(&own);
	return result;
}

/* Nothing was switched, so there are no blocks and no interval. */
static struct interval sum_observed(const struct profile *profile)
{
	double sum = 0;

	for (size_t i = 0; i < profile->job_count; i++)
		sum += profile->jobs[i].rates[TRACE_REAL].value;
	return (struct interval){sum, NAN, NAN};
}

static int conclude_jobs(struct measurement *m, struct profile *profile,
			 struct error *err)
{
	unsigned count = launch_jobs(m->config);
	const struct trace *traces[BARRIER_JOBS] = {NULL};
	double held_up[BARRIER_JOBS] = {jobs_held_up(profile)};
	int result = jobs_add(profile, 0, profile, &m->jobs[0]);

	for (unsigned i = 0; i < count; i++)
		traces[i] = m->jobs[i].trace;
	for (unsigned i = 1; result == 0 && i < count; i++)
		result = conclude_job(m, i, profile, held_up, err);
	if (result == 0)
		result = jobs_together(traces, count, &profile->together,
				       &profile->prep_cpu_per_delivered_s);
	profile->shared = m->config->startup.share;
	for (unsigned i = 0; profile->shared && i < count && i < profile->job_count;
	     i++)
		jobs_set_shared(&profile->jobs[i], traces[i]);
	if (profile->job_count > 1 && m->config->protocol == MEASURE_OBSERVE)
		profile->together = sum_observed(profile);
	if (result == 0 && profile->shared)
		result = jobs_write_waits(profile, held_up);
	return result;
}

static int measure_conclude(struct measurement *m, struct profile *profile,
			    struct error *err)
{
	int result = 0;

	for (unsigned i = 0; result == 0 && i < m->launches; i++)
		result = write_about(m, 0, m->traces[i]);
	if (result == 0)
		result = analyse((const struct trace *const *)m->traces, m->launches,
				 profile, err);
	if (result == 0 && m->counters != NULL)
		result = counters_result(m->counters, profile);
	if (result == 0)
		result = preload_result(&m->launch.preload, profile);
	if (result == 0)
		result = measure_set_status(m, 0, profile);
	if (result == 0 && (m->config->startup.jobs > 1 || m->config->startup.share))
		result = conclude_jobs(m, profile, err);
	if (result == 0) {
		other_inputs_measure(m->traces[0], profile);
		own_recipe_measure(profile);
		own_pictures_compare(preload_page(&m->launch.preload), profile);
	}
	return result == -ENOMEM ? error_sys(err, ENOMEM, "concluding the run")
				 : result;
}

int measure(const struct measure_config *config, struct profile *profile,
	    struct error *err)
{
	struct measurement m = {.config = config, .started = clock_now()};
	int result = run_folder_take(config->folder, err);

	if (result < 0)
		return result;
	machine_read(&m.machine, "");
	m.counters = counters_open(NULL, NULL);
	result = launch_all(&m, err);
	if (result == 0)
		result = measure_conclude(&m, profile, err);
	else if (!m.jobs[0].forced)
		profile->target_status = m.jobs[0].target_status;
	counters_close(m.counters);
	launch_close(&m.launch, NULL);
	for (unsigned i = 0; i < m.launches; i++)
		trace_unmap(m.traces[i]);
	for (unsigned i = 1; i < launch_jobs(config); i++)
		trace_unmap(m.jobs[i].trace);
	if (result < 0)
		run_folder_forget(config->folder);
	return result;
}
