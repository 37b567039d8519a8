/* launch.c - makes sessions, and conducts the programs. */
#include "profiler/run/launch.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/run/jobs.h"
#include "profiler/run/share_job.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Shares of the free memory: for staging, and for the page cache to grow to. */
#define STAGED_SHARE .125
#define CACHED_SHARE .8
#define MEMORY_LEAST (1u << 28) /* when the free memory is unknown */

static uint64_t launch_memory(const struct machine *machine, double share)
{
	uint64_t bytes = machine->memory_available_bytes;

	return (uint64_t)fmax(bytes == UNKNOWN ? 0 : share * (double)bytes,
			      MEMORY_LEAST);
}

static bool launch_is_several(const struct measure_config *config)
{
	return launch_jobs(config) > 1 || config->startup.share;
}

static struct conductor_config conductor_config(const struct launch *launch)
{
	const struct measure_config *config = launch->config;
	unsigned jobs = launch_jobs(config);

	return (struct conductor_config){
		.schedule =
			{
				.budget_s = launch->budget_s,
				.precision = config->precision,
				.block_s = launch->block_s,
				.seed = config->seed,
				.only = launch->only,
				.rate = launch->rate,
				.in_step = launch_is_several(config),
				.memory_bytes = launch_memory(launch->machine,
							      STAGED_SHARE / jobs),
				.cache_bytes =
					launch_memory(launch->machine, CACHED_SHARE),
			},
		.observe = launch->observe,
		.timeout_s = config->timeout_s,
		.stall_s = launch->stall_s,
		.grace_s = config->grace_s,
		.steps = config->steps,
		.samples = launch->samples,
		.torch_alone = config->startup.choice == PRELOAD_TORCH,
		.most_gets = launch->most_gets,
		.bounded = config->bounded,
		.counters = launch->counters,
		.repeats = config->repeats,
		.progress = config->progress,
		.unmeasured = config->unmeasured,
		.silent = config->silent,
		.background = config->background,
		.context = config->context,
	};
}

int launch_folder(const char *folder, char path[LAUNCH_FOLDER], struct error *err)
{
	char whole[PATH_MAX];

	if (realpath(folder, whole) == NULL)
		return error_sys(err, errno, "cannot use the folder %s", folder);
	if (strlen(whole) >= LAUNCH_FOLDER)
		return error_sys(err, ENAMETOOLONG, "cannot use the folder %s", folder);
	memcpy(path, whole, strlen(whole) + 1);
	return 0;
}

unsigned launch_jobs(const struct measure_config *config)
{
	return config->startup.jobs > 0 ? config->startup.jobs : 1;
}

uint64_t launch_most_gets(const struct measure_config *config)
{
	uint64_t most = config->most_gets, jobs = launch_jobs(config);

	if (most == 0 || most == TRACE_ONE_EPOCH || config->startup.share)
		return most;
	return most > jobs ? most / jobs : 1;
}

void launch_job_path(char *path, const char *folder, unsigned job, const char *file)
{
	snprintf(path, PATH_MAX, "%s/job-%u%s", folder, job, file);
}

static int launch_make_path(char *path, const char *folder, const char *name,
			    unsigned job, struct error *err)
{
	if (job == 0) {
		snprintf(path, PATH_MAX, "%s/%s", folder, name);
		return 0;
	}
	launch_job_path(path, folder, job, "");
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return error_sys(err, errno, "cannot make the folder %s", path);
	launch_job_path(path, folder, job, "/session");
	return 0;
}

static int launch_open_sessions(const struct measure_config *config, const char *name,
				struct conductor_job *jobs, struct error *err)
{
	unsigned count = launch_jobs(config);
	char folder[LAUNCH_FOLDER];
	int result = launch_folder(config->folder, folder, err);

	memset(jobs, 0, count * sizeof(*jobs));
	for (unsigned i = 0; result == 0 && i < count; i++) {
		char *path = jobs[i].session;

		result = launch_make_path(path, folder, name, i, err);
		if (result < 0)
			break;
		jobs[i].trace = trace_create(path, config->seed, err);
		result = jobs[i].trace == NULL ? -EIO : 0;
		if (result == 0 && i > 0) { /* one clock for all of a run */
			jobs[i].trace->created_ns = jobs[0].trace->created_ns;
			jobs[i].trace->created_real_ns = jobs[0].trace->created_real_ns;
		}
		if (result == 0 && config->startup.injection != NULL)
			injection_path_say(config->startup.injection, jobs[i].trace);
	}
	return result;
}

int launch_open(struct launch *launch, const char *name, struct conductor_job *jobs,
		struct error *err)
{
	const struct measure_config *config = launch->config;
	const struct preload_wishes wishes = {
		.choice = config->startup.choice,
		.asked = config->startup.asked,
		.observes = launch->observe,
		.several = launch_is_several(config),
		.ends_data = config->startup.ends_data,
		.own_epochs = config->startup.own_epochs,
		/* who only observes gets a training that nothing is repeated in */
		.overwrites = config->startup.overwrites ||
			      (launch->observe && !launch->trial),
	};
	int result = launch_open_sessions(config, name, jobs, err);

	return result == 0
		       ? preload_open(&launch->preload, config->folder, &wishes, err)
		       : result;
}

int launch_close(struct launch *launch, struct error *err)
{
	int result = launch->trial ? preload_put_back(&launch->preload, err) : 0;

	preload_close(&launch->preload);
	return result;
}

void launch_remove_sessions(struct conductor_job *jobs, unsigned count)
{
	for (unsigned i = 0; i < count && jobs[i].trace != NULL; i++) {
		trace_unmap(jobs[i].trace);
		unlink(jobs[i].session);
		*strrchr(jobs[i].session, '/') = '\0';
		if (i > 0)
			rmdir(jobs[i].session); /* stays where it holds a result */
	}
}

char **launch_command(const struct measure_config *config, unsigned job)
{
	char *const *command = config->startup.commands != NULL
				       ? config->startup.commands[job]
				       : config->startup.command;

	return config->startup.jobs > 0 ? jobs_command(command, job)
					: profile_copy_texts(command);
}

/* Fills in what the programs are started with, except their sessions. */
static int fill_targets(const struct launch *launch, struct conductor_job *jobs,
			char (*numbers)[4])
{
	const struct measure_config *config = launch->config;

	for (unsigned i = 0; i < launch_jobs(config); i++) {
		struct target_config *target = &jobs[i].target;

		snprintf(numbers[i], sizeof(numbers[i]), "%u", i % 100);
		target->command = launch_command(config, i);
		if (target->command == NULL)
			return -ENOMEM;
		target->loader = config->startup.loaders != NULL
					 ? config->startup.loaders[i]
					 : config->startup.loader;
		target->job = config->startup.jobs > 0 ? numbers[i] : NULL;
		target->preload =
			launch->preload.page != NULL ? &launch->preload : NULL;
		target->blind = launch->preload.why;
		if (config->startup.injection != NULL) {
			target->injection = config->startup.injection->path;
			/* ranks of a program are not switched in step */
			target->plugin = launch->observe
						 ? config->startup.injection->plugin
						 : NULL;
		}
		target->cores = config->startup.cores;
		target->background = launch_is_several(config);
		target->output_aside = config->startup.output_aside;
	}
	return 0;
}

/* Starts one loader for all programs, and conducts them. */
static int conduct_shared(const struct launch *launch, struct conductor_job *jobs,
			  struct conductor_end *end, struct error *err)
{
	struct conductor_config conductor = conductor_config(launch);
	unsigned count = launch_jobs(launch->config);
	struct share_job share;
	int result = share_job_open(&share, launch, err);

	for (unsigned i = 0; i < count; i++)
		jobs[i].target.share = share.socket;
	conductor.loader = &share.job;
	if (result == 0)
		result = conduct(&conductor, jobs, count, end, err);
	share_job_close(&share);
	return result;
}

int launch_run(const struct launch *launch, struct conductor_job *jobs,
	       struct conductor_end *end, struct error *err)
{
	const struct conductor_config conductor = conductor_config(launch);
	unsigned count = launch_jobs(launch->config);
	char numbers[BARRIER_JOBS][4];
	int result = fill_targets(launch, jobs, numbers);

	if (result < 0)
		error_sys(err, ENOMEM, "starting the program");
	else if (launch->config->startup.share)
		result = conduct_shared(launch, jobs, end, err);
	else
		result = conduct(&conductor, jobs, count, end, err);
	for (unsigned i = 0; i < count; i++)
		profile_free_texts(jobs[i].target.command);
	return result;
}
