#include "profiler/launch.h"
#include "loader/base/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What staging may take of the memory that is free, and the page cache grow to. */
#define STAGED_SHARE .125
#define CACHED_SHARE .8
#define MEMORY_LEAST (1u << 28) /* when nobody can tell */

static uint64_t memory(const struct machine *machine, double share)
{
	uint64_t bytes = machine->memory_available_bytes;

	return (uint64_t)fmax(bytes == UNKNOWN ? 0 : share * (double)bytes,
			      MEMORY_LEAST);
}

static struct conductor_config conductor_config(const struct launch *launch)
{
	const struct measure_config *config = launch->config;

	return (struct conductor_config){
		.schedule =
			{
				.budget_s = launch->budget_s,
				.precision = config->precision,
				.seed = config->seed,
				.only = launch->only,
				.rate = launch->rate,
				.memory_bytes = memory(launch->machine, STAGED_SHARE),
				.cache_bytes = memory(launch->machine, CACHED_SHARE),
			},
		.observe = launch->observe,
		.timeout_s = config->timeout_s,
		.grace_s = config->grace_s,
		.steps = config->steps,
		.counters = launch->counters,
		.tell = config->tell,
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

int launch_run(const struct launch *launch, const char *path, struct trace *trace,
	       struct conductor_end *end, struct error *err)
{
	const struct measure_config *config = launch->config;
	const struct conductor_config conductor = conductor_config(launch);
	struct target_config target = {
		.command = config->command,
		.session = path,
		.loader = config->loader,
		.cores = config->cores,
		.output_aside = config->output_aside,
	};

	return conduct(&conductor, &target, trace, end, err);
}
