/* measure_rate.c - one launch with real windows alone. */
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/launch.h"
#include "profiler/rate.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* What became of it, when there is no window to tell of. */
static int fail(const struct measure_config *config, const struct conductor_end *end,
		struct error *err)
{
	if (end->text[0] != '\0')
		return error_set(err, ENODATA, "no rate was measured: %s", end->text);
	return error_set(err, ETIMEDOUT,
			 "%g s were too short to measure a rate: try a longer --budget",
			 config->budget_s);
}

static int conclude(const struct measure_config *config, const struct trace *trace,
		    const struct conductor_end *end, struct measure_rate *rate,
		    struct error *err)
{
	if (end->why == CONDUCTOR_INTERRUPTED)
		return error_set(err, EINTR, "interrupted: %s", end->text);
	if (rate_measure(trace, rate) < 0)
		return error_sys(err, ENOMEM, "measuring a rate");
	return rate->windows > 0 ? 0 : fail(config, end, err);
}

int measure_rate(const struct measure_config *config, struct measure_rate *rate,
		 struct error *err)
{
	struct machine machine;
	const struct launch launch = {
		.config = config,
		.machine = &machine,
		.budget_s = config->budget_s,
		.only = TRACE_REAL,
		.rate = true,
	};
	char folder[LAUNCH_FOLDER], path[PATH_MAX];
	struct conductor_end end;
	struct trace *trace;
	int result = launch_folder(config->folder, folder, err);

	if (result < 0)
		return result;
	snprintf(path, sizeof(path), "%s/session.rate", folder);
	trace = trace_create(path, config->seed, err);
	if (trace == NULL)
		return -EIO;
	machine_read(&machine, "");
	result = launch_run(&launch, path, trace, &end, err);
	if (result == 0)
		result = conclude(config, trace, &end, rate, err);
	trace_unmap(trace);
	unlink(path);
	return result;
}
