/* describe_run.c - fills in what is known of a run before anything is measured. */
#include "profiler/run/describe_run.h"
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "profiler/run/launch.h"
#include "profiler/session/run_metadata.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Where the program runs; a folder that is gone stays unknown. */
static int describe_run_set_directory(struct profile *profile)
{
	char *directory = getcwd(NULL, 0);
	int result = 0;

	if (directory == NULL)
		return errno == ENOMEM ? -ENOMEM : 0;
	result = profile_text(&profile->directory, "%s", directory);
	free(directory);
	return result;
}

static int describe_run_fill(const struct describe_run *run, unsigned job,
			     const char *dataset, struct profile *profile)
{
	const struct measure_config *config = run->config;
	unsigned cores = config->startup.cores;
	char started[CLOCK_UTC];

	clock_utc(started);
	/* The command of job 0 stands for all of them. */
	profile->command = job > 0 ? launch_command(config, job)
				   : profile_copy_texts(config->startup.command);
	profile->protocol.id = (int)run->protocol;
	profile->budget_s = run->budget_s;
	profile->precision = run->precision;
	profile->cores = cores > 0 ? cores : (uint64_t)fmax(1, run->machine->cores);
	if (profile_copy_text(&profile->version, DSA_VERSION) < 0 ||
	    profile_copy_text(&profile->repeat, config->repeat) < 0 ||
	    profile_copy_text(&profile->loader, config->startup.loader) < 0 ||
	    profile_copy_text(&profile->asked, config->startup.asked) < 0 ||
	    profile_copy_text(&profile->loader_choice,
			      preload_choices[config->startup.choice]) < 0 ||
	    profile_copy_text(&profile->epoch_ends,
			      config->startup.own_epochs ? "own" : "auto") < 0 ||
	    profile_copy_text(&profile->started, started) < 0 ||
	    describe_run_set_directory(profile) < 0 || profile->command == NULL)
		return -ENOMEM;
	return machine_facts(profile, run->machine, dataset, "");
}

int describe_run(const struct describe_run *run, unsigned job, struct trace *trace)
{
	const char *dataset = run->config->dataset;
	struct profile about;
	int result;

	profile_init(&about);
	if (dataset == NULL && trace->loader_ready)
		dataset = trace->loader.dataset;
	result = describe_run_fill(run, job, dataset, &about);
	if (result == 0)
		result = run_metadata_write(&about, trace->about, sizeof(trace->about));
	profile_free(&about);
	return result;
}
