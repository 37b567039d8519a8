/* short_run.c - one launch: its session, its judgement, its profile. */
#include "profiler/run/short_run.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/analysis/analyse.h"
#include "profiler/run/describe_run.h"
#include "profiler/run/launch.h"
#include "profiler/session/work_counts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* One launch, and what became of it. */
struct attempt {
	struct measure_config config; /* without what repetitions have not */
	const char *protocol;
	struct machine machine;
	struct conductor_job job;
	struct conductor_end end;
	uint64_t started;
};

/* Why there is nothing to analyse, or 0. After the data ended a program may leave as it
 * likes. */
static int short_run_judge(const struct attempt *attempt, struct error *err)
{
	const char *text = attempt->end.text;

	switch (attempt->end.why) {
	case CONDUCTOR_PRECISE:
	case CONDUCTOR_STEPS:
		return 0;
	case CONDUCTOR_BUDGET: /* there is none to be over */
		return error_sys(err, ENOMEM, "planning the windows");
	case CONDUCTOR_VOID:
		return error_set(err, ENODATA,
				 "what was measured can't be certified: %s", text);
	case CONDUCTOR_INTERRUPTED: /* reported before */
		break;
	case CONDUCTOR_ENDED:
		return error_set(err, ECHILD,
				 "%s before it was measured: let it train longer",
				 text);
	case CONDUCTOR_DIED:
		return error_set(err, ECHILD, "%s before it was measured", text);
	case CONDUCTOR_SILENT: /* was it stopped, or did it end? */
		return error_set(err, attempt->job.forced ? ETIMEDOUT : ECHILD, "%s",
				 text);
	case CONDUCTOR_HUNG:
		return error_set(err, ETIMEDOUT, "%s", text);
	}
	return -EINVAL;
}

static int short_run_launch(struct attempt *attempt, const struct launch *launch,
			    struct error *err)
{
	int result = launch_open_sessions(&attempt->config, "session.repetition",
					  &attempt->job, err);

	if (result < 0)
		return result;
	machine_read(&attempt->machine, "");
	result = launch_run(launch, &attempt->job, &attempt->end, err);
	if (result == 0 && attempt->end.signal != 0)
		return error_set(err, EINTR, "interrupted: %s",
				 strsignal(attempt->end.signal));
	return result;
}

static int short_run_conclude(const struct attempt *attempt, struct profile *profile,
			      struct error *err)
{
	const struct describe_run about = {
		.config = &attempt->config,
		.machine = &attempt->machine,
		.protocol = attempt->protocol,
		.budget_s = NAN,
		.precision = NAN,
	};
	const struct trace *trace = attempt->job.trace;
	int result = describe_run(&about, 0, attempt->job.trace);

	profile->status.id = STATUS_COMPLETE;
	if (result < 0)
		return error_sys(err, ENOMEM, "describing a repetition");
	profile->target_status = attempt->job.target_status;
	profile->wall_s = clock_since(attempt->started);
	return analyse(&trace, 1, profile, err);
}

static struct attempt short_run_begin(const struct measure_config *config,
				      const char *protocol)
{
	struct attempt attempt = {
		.config = *config, .protocol = protocol, .started = clock_now()};

	attempt.config.steps = 0;
	attempt.config.progress = NULL;
	return attempt;
}

static int time_once(const struct short_run *repetition, struct profile *profile,
		     struct error *err)
{
	struct attempt attempt = short_run_begin(repetition->config, "repetition");
	const struct launch launch = {
		.config = &attempt.config,
		.machine = &attempt.machine,
		.budget_s = INFINITY,
		.only = -1,
		.block_s = repetition->seconds,
		.stall_s = repetition->config->timeout_s,
	};
	int result = short_run_launch(&attempt, &launch, err);

	if (result == 0)
		result = short_run_judge(&attempt, err);
	if (result == 0)
		result = short_run_conclude(&attempt, profile, err);
	launch_remove_sessions(&attempt.job, 1);
	return result;
}

int short_run_time(const struct short_run *repetition, struct profile *profile,
		   struct error *err)
{
	int result = time_once(repetition, profile, err);

	for (unsigned i = 1; result == -ENODATA && i < repetition->tries; i++) {
		profile_free(profile);
		profile_init(profile);
		result = time_once(repetition, profile, err);
	}
	return result;
}

static int short_run_count_once(const struct attempt *attempt, struct profile *profile,
				struct error *err)
{
	if (work_counts_read(attempt->job.trace, &profile->counted) == 0)
		return 0;
	return error_set(err, ENODATA, "the loader counted nothing: %s",
			 attempt->job.trace->loader.shared
				 ? "it is shared with other programs"
				 : "it delivered no sample");
}

int short_run_count(const struct short_run *repetition, struct profile *profile,
		    struct error *err)
{
	struct attempt attempt = short_run_begin(repetition->config, "counted");
	const struct launch launch = {
		.config = &attempt.config,
		.machine = &attempt.machine,
		.budget_s = INFINITY,
		.only = -1,
		.observe = true,
		.samples = repetition->samples > 0 ? repetition->samples : UNKNOWN,
		.stall_s = attempt.config.timeout_s,
	};
	int result = short_run_launch(&attempt, &launch, err);

	/* What a program had that ended by itself is always the same, too. */
	if (result == 0 && attempt.end.why != CONDUCTOR_ENDED)
		result = short_run_judge(&attempt, err);
	if (result == 0)
		result = short_run_conclude(&attempt, profile, err);
	if (result == 0)
		result = short_run_count_once(&attempt, profile, err);
	launch_remove_sessions(&attempt.job, 1);
	return result;
}
