/* run_ending.c - puts the end of a run into words. */
#include "profiler/run/run_ending.h"
#include "loader/base/trace.h"
#include "profiler/analysis/analyse.h"
#include "profiler/analysis/shares.h"
#include "profiler/run/conductor/conductor.h"
#include "profiler/schedule/window_cost.h"

#include <signal.h>

/* What the shares need: blocks of windows, each of so many steps or longer, and a
 * quarter for switches and curves. */
#define WINDOW_STEPS (STEPS_SETTLE + STEPS_LEAST)
#define WINDOW_S     1.
#define BESIDE       1.25

/* Steps that the program took; and seconds of one, NAN where there were too few. */
static uint64_t run_ending_steps(const struct trace *trace, double *step_s)
{
	const struct trace_process *driver = trace_driver(trace);
	uint64_t steps = driver == NULL ? 0 : driver->counters[TRACE_delivered_batches],
		 first = trace->first_request_ns, last = trace->last_request_ns;

	*step_s = steps > 1 && last > first
			  ? (double)(last - first) * 1e-9 / (double)steps
			  : NAN;
	return steps;
}

/* Windows are as long as the budget lets them be, up to WINDOW_S. */
static double run_ending_enough_s(const struct trace *trace, double step_s,
				  double budget_s)
{
	double windows = SHARES_BLOCKS_LEAST * stage_count(&trace->loader);
	double window_s = fmin(WINDOW_S, budget_s / (windows * BESIDE));

	return BESIDE * windows * fmax(WINDOW_STEPS * step_s, window_s);
}

static int run_ending_short(const struct run_ending *ending, struct profile *profile)
{
	const char *stopped =
		ending->forced ? ", and the program had to be stopped" : "";
	double step_s;

	run_ending_steps(ending->trace, &step_s);
	if (isnan(step_s))
		return profile_text(&profile->status_why,
				    "%g s is too short%s: raise --budget",
				    ending->budget_s, stopped);
	profile->budget_needed_s =
		fmax(run_ending_enough_s(ending->trace, step_s, INFINITY),
		     2 * ending->budget_s);
	return profile_text(&profile->status_why,
			    "%g s is too short%s (a step takes %.2g s)",
			    ending->budget_s, stopped, step_s);
}

/* Two digits: "about 300". */
static double run_ending_about(double number)
{
	double unit = pow(10, fmax(0, floor(log10(number)) - 1));

	return ceil(number / unit) * unit;
}

static int run_ending_finished(const struct run_ending *ending, struct profile *profile)
{
	double step_s;
	uint64_t steps = run_ending_steps(ending->trace, &step_s);

	if (analyse_complete(profile) || isnan(step_s))
		return profile_text(&profile->status_why, "%s first",
				    ending->end->text);
	return profile_text(
		&profile->status_why,
		"%s first: it took %llu steps; about %.0f are needed: let it "
		"train for longer",
		ending->end->text, (unsigned long long)steps,
		run_ending_about(
			run_ending_enough_s(ending->trace, step_s, ending->budget_s) /
			step_s));
}

static int run_ending_interrupted(const struct run_ending *ending,
				  struct profile *profile)
{
	return ending->end->signal == SIGINT
		       ? profile_text(&profile->status_why, "you interrupted it")
		       : profile_text(&profile->status_why, "dsa received %s",
				      ending->end->text);
}

/* It may have run out of steps that it counts, as a learning rate schedule does. */
bool run_ending_overran(const struct conductor_end *end, const struct trace *trace)
{
	bool closed = end->why == CONDUCTOR_BUDGET && end->text[0] != '\0';
	uint32_t beyond = atomic_load(&trace->beyond);

	/* the budget may be used up while it is on its way out */
	return (end->why == CONDUCTOR_DIED || closed) && beyond != 0 &&
	       beyond != TRACE_ENDLESS;
}

static int run_ending_died(const struct run_ending *ending, uint64_t steps,
			   struct profile *profile)
{
	return profile_text(&profile->status_why,
			    "%s after %llu steps; dsa repeats its data, of which an "
			    "epoch has %llu: "
			    "if what counts steps ran out of them, as a learning rate "
			    "schedule does, "
			    "let it have more, or use --epochs=own or --observe",
			    ending->end->text, (unsigned long long)steps,
			    (unsigned long long)ending->trace->loader.steps_per_epoch);
}

/* Samples that the loader was never given, where a server ended its data. */
static uint64_t run_ending_lost(const struct run_ending *ending)
{
	const struct trace_process *driver = trace_driver(ending->trace);

	return driver != NULL ? driver->counters[TRACE_lost_samples] : 0;
}

static int run_ending_other(const struct run_ending *ending, struct profile *profile)
{
	double step_s;
	const struct trace *trace = ending->trace;
	uint64_t steps = run_ending_steps(trace, &step_s);
	uint64_t lost = run_ending_lost(ending);
	const char *text = ending->end->text;

	if (*text == '\0' && !ending->forced)
		return 0;
	if (lost > 0 && *trace->lost_why != '\0')
		return profile_text(&profile->status_why,
				    "%s, as a server ended its data: %.*s", text,
				    (int)sizeof(trace->lost_why), trace->lost_why);
	if (lost > 0) /* by a loader that is shared */
		return profile_text(
			&profile->status_why,
			"%s, as a server ended its data: %llu sample%s lost", text,
			(unsigned long long)lost, lost == 1 ? "" : "s");
	if (run_ending_overran(ending->end, trace) && trace->loader.steps_per_epoch > 0)
		return run_ending_died(ending, steps, profile);
	return profile_text(&profile->status_why, "%s%s%s", text,
			    ending->forced && *text != '\0' ? "; " : "",
			    ending->forced ? "the program did not leave when its data "
					     "ended, and was stopped"
					   : "");
}

/* No budget would have brought what is missing of a job that was left behind. */
static int run_ending_left(const struct run_ending *ending, struct profile *profile)
{
	return profile_text(&profile->status_why,
			    "job %u %s, and the others went on without it", ending->job,
			    ending->left);
}

static int run_ending_alone(const struct run_ending *ending, struct profile *profile)
{
	return profile_text(&profile->status_why, "it went on without dsa: %.*s",
			    TRACE_WHY, ending->trace->unmeasured_why);
}

static int run_ending_why(const struct run_ending *ending, struct profile *profile)
{
	enum conductor_why why = ending->end->why;

	if ((why == CONDUCTOR_BUDGET || why == CONDUCTOR_ENDED ||
	     why == CONDUCTOR_INTERRUPTED) &&
	    trace_is_alone(ending->trace))
		return run_ending_alone(ending, profile);
	if (*ending->end->text == '\0' && !analyse_complete(profile)) {
		if (*ending->left != '\0')
			return run_ending_left(ending, profile);
		if (why == CONDUCTOR_BUDGET)
			return run_ending_short(ending, profile);
	}
	if (why == CONDUCTOR_ENDED)
		return run_ending_finished(ending, profile);
	if (why == CONDUCTOR_INTERRUPTED)
		return run_ending_interrupted(ending, profile);
	return run_ending_other(ending, profile);
}

static int run_ending_add_process(pid_t process, struct profile *profile)
{
	const char *why = profile->status_why;

	return profile_text(&profile->status_why,
			    "%s%sprocess %d is left of it, which can't be ended",
			    why == NULL ? "" : why, why == NULL ? "" : "; ",
			    (int)process);
}

int run_ending_set(const struct run_ending *ending, struct profile *profile)
{
	static const enum profile_status statuses[] = {
		[CONDUCTOR_PRECISE] = STATUS_COMPLETE,
		[CONDUCTOR_BUDGET] = STATUS_BUDGET,
		[CONDUCTOR_REQUESTS] = STATUS_REQUESTS,
		[CONDUCTOR_STEPS] = STATUS_STEPS,
		[CONDUCTOR_VOID] = STATUS_VOID,
		[CONDUCTOR_INTERRUPTED] = STATUS_INTERRUPTED,
		[CONDUCTOR_ENDED] = STATUS_TARGET_ENDED,
		[CONDUCTOR_DIED] = STATUS_TARGET_DIED,
		[CONDUCTOR_SILENT] = STATUS_NO_BATCH,
		[CONDUCTOR_HUNG] = STATUS_TARGET_HUNG,
	};
	const struct conductor_end *end = ending->end;
	bool seen_all = ending->observed && end->why == CONDUCTOR_ENDED &&
			!trace_is_alone(ending->trace);
	int result = 0;

	profile->status.id = (int)(seen_all ? STATUS_COMPLETE : statuses[end->why]);
	if (!seen_all)
		result = run_ending_why(ending, profile);
	if (result == 0 && end->left != 0)
		result = run_ending_add_process(end->left, profile);
	return result;
}
