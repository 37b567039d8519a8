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
	enum measure_protocol protocol;
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
	case CONDUCTOR_REQUESTS:
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
		if (attempt->job.trace->unmeasured)
			return error_set(err, ENOTSUP, "%s", text);
		return error_set(err, attempt->job.forced ? ETIMEDOUT : ECHILD, "%s",
				 text);
	case CONDUCTOR_HUNG:
		return error_set(err, ETIMEDOUT, "%s", text);
	}
	return -EINVAL;
}

static int short_run_launch(struct attempt *attempt, struct launch *launch,
			    struct error *err)
{
	int result = launch_open(launch, "session.repetition", &attempt->job, err);

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

static int short_run_read_counts(const struct attempt *attempt, struct profile *profile,
				 struct error *err)
{
	if (work_counts_read(attempt->job.trace, &profile->counted) == 0)
		return 0;
	return error_set(err, ENODATA, "the loader counted nothing: %s",
			 attempt->job.trace->loader.shared
				 ? "it is shared with other programs"
				 : "it delivered no sample");
}

/* One launch: a counted one where it only observes, else a timed one. */
static int short_run_once(const struct short_run *repetition, struct launch launch,
			  struct profile *profile, struct error *err)
{
	struct attempt attempt = {
		.config = *repetition->config,
		.protocol = launch.observe ? MEASURE_COUNTED : MEASURE_REPETITION,
		.started = clock_now(),
	};
	int result, closed;

	attempt.config.steps = 0;
	attempt.config.progress = NULL;
	attempt.config.unmeasured = NULL;
	attempt.config.silent = NULL;
	launch.config = &attempt.config;
	launch.machine = &attempt.machine;
	launch.budget_s = INFINITY;
	launch.only = -1;
	launch.trial = true;
	launch.stall_s = attempt.config.timeout_s;
	result = short_run_launch(&attempt, &launch, err);
	/* What a counted program had that ended by itself is always the same, too. */
	if (result == 0 && !(launch.observe && attempt.end.why == CONDUCTOR_ENDED))
		result = short_run_judge(&attempt, err);
	if (result == 0)
		result = short_run_conclude(&attempt, profile, err);
	if (result == 0 && launch.observe)
		result = short_run_read_counts(&attempt, profile, err);
	closed = launch_close(&launch, err);
	launch_remove_sessions(&attempt.job, 1);
	return closed < 0 ? closed : result;
}

int short_run_time(const struct short_run *repetition, struct profile *profile,
		   struct error *err)
{
	const struct launch timed = {.block_s = repetition->seconds};
	int result = short_run_once(repetition, timed, profile, err);

	for (unsigned i = 1; result == -ENODATA && i < repetition->tries; i++) {
		profile_free(profile);
		profile_init(profile);
		result = short_run_once(repetition, timed, profile, err);
	}
	return result;
}

int short_run_count(const struct short_run *repetition, struct profile *profile,
		    struct error *err)
{
	const struct launch counted = {
		.observe = true,
		.samples = repetition->samples > 0 ? repetition->samples : UNKNOWN,
	};

	return short_run_once(repetition, counted, profile, err);
}
