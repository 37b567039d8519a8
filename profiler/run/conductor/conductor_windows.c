/* conductor_windows.c - asks every program of a launch for its windows. */
#include "loader/base/trace.h"
#include "profiler/run/conductor/conductor_state.h"
#include "profiler/session/merge_shared.h"
#include "profiler/session/window.h"

static void conductor_windows_append(struct trace *trace,
				     const struct trace_window *ask)
{
	unsigned count = trace->window_count;

	trace->windows[count] = *ask;
	atomic_store_explicit(&trace->window_count, count + 1, memory_order_release);
}

/* Windows without deliveries run on `lead` alone, or on the shared loader. */
static bool stands_aside(const struct conductor *conductor, unsigned job, unsigned lead,
			 const struct trace_window *ask)
{
	if (window_delivers(ask->kind))
		return false;
	if (conductor->loader != NULL)
		return !conductor_is_loader(conductor, job);
	/* each fills a cache of its own */
	return job != lead && ask->kind != TRACE_FILL;
}

/* Asks every job for the window. */
static void append_all(struct conductor *conductor, unsigned lead,
		       const struct trace_window *ask)
{
	for (unsigned i = 0; i < conductor->count; i++) {
		struct job *job = &conductor->jobs[i];
		struct trace_window own = *ask;

		if (!conductor_has(conductor, i))
			continue;
		if (i > 0 && !conductor_is_loader(conductor, i))
			schedule_follow(job->schedule, job->trace, ask, &own);
		if (conductor->loader != NULL)
			own = *ask; /* there is one cache to fill, and one stage */
		if (stands_aside(conductor, i, lead, ask))
			own.flags |= TRACE_ASIDE;
		if (conductor->loader != NULL && !conductor_is_loader(conductor, i))
			own.flags |= TRACE_UNMERGED;
		conductor_windows_append(job->trace, &own);
	}
}

static void heed_followers(struct conductor *conductor)
{
	struct schedule *followers[BARRIER_JOBS];
	size_t count = 0;

	for (unsigned i = 1; i < conductor->count; i++)
		if (conductor_has(conductor, i) && !conductor_is_loader(conductor, i))
			followers[count++] = conductor->jobs[i].schedule;
	schedule_heed(conductor->jobs[0].schedule, followers, count);
}

void conductor_windows_merge(struct conductor *conductor)
{
	const struct trace *loader = conductor->loader->trace;
	unsigned count = loader->window_count;
	int lead = conductor_first(conductor);

	for (unsigned i = 0; i < conductor->count; i++) {
		struct trace *job = conductor->jobs[i].trace;

		if (conductor_is_loader(conductor, i) || !conductor_has(conductor, i))
			continue;
		if (count == 0)
			merge_shared_describe(job, loader);
		for (unsigned at = conductor->merged; at < count; at++)
			merge_shared_window(job, loader, at, (int)i == lead);
	}
	conductor->merged = count;
}

void conductor_windows_conclude(struct conductor *conductor)
{
	conductor_windows_merge(conductor);
	for (unsigned i = 0; i < conductor->count; i++) {
		struct trace *job = conductor->jobs[i].trace;
		uint32_t driver = job->driver;

		if (!conductor_is_loader(conductor, i) && driver > 0 &&
		    driver <= TRACE_PROCESSES)
			merge_shared_totals(&job->processes[driver - 1],
					    conductor->loader->trace);
	}
}

void conductor_extend(struct conductor *conductor)
{
	struct schedule *schedule = conductor->jobs[0].schedule;
	int lead = conductor_first(conductor);
	enum schedule_step step = SCHEDULE_WAIT;
	struct trace_window ask;

	while (!conductor->config->observe && lead >= 0 &&
	       conductor->jobs[lead].trace->window_count < TRACE_WINDOWS &&
	       (conductor->count == 1 || barrier_over(&conductor->barrier))) {
		if (conductor->loader != NULL)
			conductor_windows_merge(conductor);
		heed_followers(conductor);
		step = schedule_next(schedule, conductor->jobs[lead].trace,
				     conductor_elapsed(conductor), &ask);
		if (step != SCHEDULE_ASK)
			break;
		append_all(conductor, (unsigned)lead, &ask);
	}
	if (step == SCHEDULE_DONE)
		conductor_stop(conductor, CONDUCTOR_PRECISE, "%s", "");
	if (step == SCHEDULE_OUT)
		conductor_spent(conductor);
	if (step == SCHEDULE_REQUESTS)
		conductor_stop(conductor, CONDUCTOR_REQUESTS, "%s", "");
	if (step == SCHEDULE_VOID)
		conductor_stop(conductor, CONDUCTOR_VOID, "%s", schedule_why(schedule));
}

void conductor_observe(struct trace *trace)
{
	const struct trace_window all = {
		.kind = TRACE_REAL, .block = UINT32_MAX, .length_ns = UINT64_MAX};

	trace->observe = 1;
	conductor_windows_append(trace, &all);
}
