#include "profiler/measure.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/about.h"
#include "profiler/analyse.h"
#include "profiler/counters.h"
#include "profiler/launch.h"
#include "profiler/machine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct measurement {
	const struct measure_config *config;
	struct machine machine;
	struct profile *profile;
	struct trace *traces[ANALYSE_SESSIONS];
	unsigned launches;
	struct counters *counters;
	struct conductor_end end;
	uint64_t started;
};

static void session_path(char *path, const char *folder, unsigned launch)
{
	if (launch == 0)
		snprintf(path, PATH_MAX, "%s/session", folder);
	else
		snprintf(path, PATH_MAX, "%s/session.%u", folder, launch + 1);
}

static int copy_command(char *const *command, struct profile *profile)
{
	size_t count = 0;

	while (command[count] != NULL)
		count++;
	profile->command = calloc(count + 1, sizeof(*profile->command));
	for (size_t i = 0; profile->command != NULL && i < count; i++) {
		profile->command[i] = strdup(command[i]);
		if (profile->command[i] == NULL)
			return -ENOMEM;
	}
	return profile->command == NULL ? -ENOMEM : 0;
}

static int say_started(struct profile *profile)
{
	char text[32];
	time_t now = time(NULL);
	struct tm utc;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	return profile_text(&profile->started, "%s", text);
}

/* Where the program runs; a folder that is gone stays unknown. */
static int say_directory(struct profile *profile)
{
	char *directory = getcwd(NULL, 0);
	int result = 0;

	if (directory == NULL)
		return errno == ENOMEM ? -ENOMEM : 0;
	result = profile_text(&profile->directory, "%s", directory);
	free(directory);
	return result;
}

/* What is known before, or without, any measurement; it goes into the session. */
static int describe(const struct measurement *m, const char *dataset,
		    struct profile *profile)
{
	static const char *const protocols[] = {"interleaved", "separate", "observe"};
	const struct measure_config *config = m->config;
	unsigned cores = config->cores;

	profile->budget_s = config->budget_s;
	profile->precision = config->precision;
	profile->cores = cores > 0 ? cores : (uint64_t)fmax(1, m->machine.cores);
	if (profile_text(&profile->version, "%s", DSA_VERSION) < 0 ||
	    profile_text(&profile->protocol, "%s", protocols[config->protocol]) < 0 ||
	    profile_text(&profile->repeat, "%s", config->repeat) < 0 ||
	    (config->loader != NULL &&
	     profile_text(&profile->loader, "%s", config->loader) < 0) ||
	    say_directory(profile) < 0 || say_started(profile) < 0 ||
	    copy_command(config->command, profile) < 0)
		return -ENOMEM;
	return machine_facts(profile, &m->machine, dataset, "");
}

/* Writes into a session what it is of. */
static int write_about(const struct measurement *m, struct trace *trace)
{
	const char *dataset = m->config->dataset;
	struct profile about;
	int result;

	profile_init(&about);
	if (dataset == NULL && trace->loader_ready)
		dataset = trace->loader.dataset;
	result = describe(m, dataset, &about);
	if (result == 0)
		result = about_write(&about, trace->about, sizeof(trace->about));
	profile_free(&about);
	return result;
}

/* One launch with a session of its own. */
static int launch(struct measurement *m, int only, struct error *err)
{
	const struct measure_config *config = m->config;
	unsigned launches = config->protocol == MEASURE_SEPARATE ? ANALYSE_SESSIONS : 1;
	const struct launch launch = {
		.config = config,
		.machine = &m->machine,
		.counters = m->launches == 0 ? m->counters : NULL,
		.only = only,
		.budget_s = config->budget_s / launches,
		.observe = config->protocol == MEASURE_OBSERVE,
	};
	char folder[LAUNCH_FOLDER], path[PATH_MAX];
	int result = launch_folder(config->folder, folder, err);
	struct trace *trace;

	if (result < 0)
		return result;
	session_path(path, folder, m->launches);
	trace = trace_create(path, config->seed, err);
	if (trace == NULL)
		return -EIO;
	m->traces[m->launches++] = trace;
	if (write_about(m, trace) < 0)
		return error_sys(err, ENOMEM, "describing the run");
	return launch_run(&launch, path, trace, &m->end, err);
}

static int silent(const struct measurement *m, struct error *err)
{
	return error_set(err, ETIMEDOUT, "%s", m->end.text);
}

static int launch_all(struct measurement *m, struct error *err)
{
	static const int kinds[] = {TRACE_REAL, TRACE_CACHED, TRACE_SYNTHETIC};
	unsigned launches = m->config->protocol == MEASURE_SEPARATE ? 3 : 1;
	int result = 0;

	for (unsigned i = 0; result == 0 && i < launches; i++) {
		result = launch(m, launches > 1 ? kinds[i] : -1, err);
		if (result == 0 && m->end.why == CONDUCTOR_SILENT)
			result = silent(m, err);
		if (m->end.why == CONDUCTOR_INTERRUPTED)
			break;
	}
	return result;
}

/* What the status of the result says of the last launch's end. */
static int say_status(const struct measurement *m, struct profile *profile)
{
	static const char *const words[] = {
		[CONDUCTOR_PRECISE] = "complete",
		[CONDUCTOR_BUDGET] = "budget",
		[CONDUCTOR_STEPS] = "steps",
		[CONDUCTOR_VOID] = "void",
		[CONDUCTOR_INTERRUPTED] = "interrupted",
		[CONDUCTOR_ENDED] = "target ended",
		[CONDUCTOR_DIED] = "target died",
		[CONDUCTOR_SILENT] = "no batch",
	};
	const struct conductor_end *end = &m->end;
	bool seen_all =
		m->config->protocol == MEASURE_OBSERVE && end->why == CONDUCTOR_ENDED;

	profile->target_status = end->target_status;
	profile->wall_s = (double)(clock_now() - m->started) * 1e-9;
	if (profile_text(&profile->status, "%s",
			 seen_all ? "complete" : words[end->why]) < 0)
		return -ENOMEM;
	if (end->why == CONDUCTOR_BUDGET && !analyse_complete(profile))
		return profile_text(&profile->status_why,
				    "%g s were too short%s: try a longer --budget",
				    m->config->budget_s,
				    end->forced ? ", and the program had to be stopped"
						: "");
	if (seen_all || (end->text[0] == '\0' && !end->forced))
		return 0;
	return profile_text(&profile->status_why, "%s%s%s", end->text,
			    end->forced && end->text[0] != '\0' ? "; " : "",
			    end->forced ? "the program did not leave when its data "
					  "ended, and was stopped"
					: "");
}

static int conclude(struct measurement *m, struct profile *profile, struct error *err)
{
	int result = 0;

	for (unsigned i = 0; result == 0 && i < m->launches; i++)
		result = write_about(m, m->traces[i]);
	if (result == 0)
		result = analyse((const struct trace *const *)m->traces, m->launches,
				 profile, err);
	if (result == 0 && m->counters != NULL)
		result = counters_result(m->counters, profile);
	if (result == 0)
		result = say_status(m, profile);
	return result == -ENOMEM ? error_sys(err, ENOMEM, "concluding the run")
				 : result;
}

/* Removes what a dead dsa left; refuses while one lives. */
static int take_folder(const char *folder, struct error *err)
{
	char path[PATH_MAX];
	struct trace *trace;
	bool alive;

	session_path(path, folder, 0);
	trace = trace_map(path, false, NULL);
	alive = trace != NULL && trace_dsa_alive(trace);
	trace_unmap(trace);
	if (alive)
		return error_set(err, EBUSY, "another run is writing into %s", folder);
	measure_forget(folder);
	return 0;
}

int measure(const struct measure_config *config, struct profile *profile,
	    struct error *err)
{
	struct measurement m = {.config = config, .started = clock_now()};
	int result = take_folder(config->folder, err);

	if (result < 0)
		return result;
	machine_read(&m.machine, "");
	m.counters = counters_open(NULL, NULL);
	result = launch_all(&m, err);
	if (result == 0)
		result = conclude(&m, profile, err);
	counters_close(m.counters);
	for (unsigned i = 0; i < m.launches; i++)
		trace_unmap(m.traces[i]);
	if (result < 0)
		measure_forget(config->folder);
	return result;
}

/* Maps the sessions of a folder; returns how many, 0 with err when there is none. */
static unsigned map_all(const char *folder, const struct trace **traces,
			struct error *err)
{
	char path[PATH_MAX];
	unsigned count = 0;

	while (count < ANALYSE_SESSIONS) {
		session_path(path, folder, count);
		if (count > 0 && access(path, F_OK) < 0)
			break;
		traces[count] = trace_map(path, false, err);
		if (traces[count] == NULL)
			break;
		count++;
	}
	return count;
}

int measure_recover(const char *folder, struct profile *profile, struct error *err)
{
	const struct trace *traces[ANALYSE_SESSIONS];
	struct error why = {0};
	unsigned count = map_all(folder, traces, &why);
	int result = count == 0 ? -why.code : 0;

	if (result < 0 && err != NULL)
		*err = why;
	if (result == 0 && trace_dsa_alive(traces[0]))
		result = error_set(err, EBUSY, "the run in %s is still going on",
				   folder);
	if (result == 0)
		result = analyse(traces, count, profile, err);
	if (result == 0 &&
	    (profile_text(&profile->status, "dsa died") < 0 ||
	     profile_text(&profile->status_why,
			  "dsa ended before the run did; this is what its session "
			  "holds") < 0))
		result = error_sys(err, ENOMEM, "recovering the run");
	for (unsigned i = 0; i < count; i++)
		trace_unmap((struct trace *)(uintptr_t)traces[i]);
	return result;
}

void measure_forget(const char *folder)
{
	char path[PATH_MAX];

	for (unsigned i = 0; i < ANALYSE_SESSIONS; i++) {
		session_path(path, folder, i);
		unlink(path);
	}
}
