/* barrier.c - compares how far the jobs of a run are. */
#include "profiler/run/conductor/barrier.h"
#include "loader/base/trace.h"

#include <stddef.h>

#define PATIENCE_NS    UINT64_C(10000000000)
#define PATIENCE_TIMES 4

void barrier_join(struct barrier *barrier, struct trace *trace)
{
	barrier->jobs[barrier->count++] =
		(struct barrier_job){.trace = trace, .in = true};
}

void barrier_leave(struct barrier *barrier, unsigned job)
{
	barrier->jobs[job].in = false;
	atomic_store(&barrier->jobs[job].trace->in_step, 0);
}

int barrier_first(const struct barrier *barrier)
{
	for (unsigned i = 0; i < barrier->count; i++)
		if (barrier->jobs[i].in)
			return (int)i;
	return -1;
}

/* The last window asked for; NULL: none was. */
static const struct trace_window *barrier_last(const struct barrier_job *job)
{
	uint32_t count = job->trace->window_count;

	return count == 0 ? NULL : &job->trace->windows[count - 1];
}

static bool is_over(const struct barrier_job *job)
{
	const struct trace_window *window = barrier_last(job);

	return job->trace->first_request_ns != 0 &&
	       (window == NULL || window->state == TRACE_DONE ||
		window->state == TRACE_REFUSED);
}

/* How far a job is with its window; TRACE_ENOUGH when the window is over. */
static enum trace_progress barrier_progress(const struct barrier_job *job)
{
	const struct trace_window *window = barrier_last(job);

	return is_over(job)     ? TRACE_ENOUGH
	       : window == NULL ? TRACE_SWITCHING
				: (enum trace_progress)window->progress;
}

bool barrier_over(const struct barrier *barrier)
{
	for (unsigned i = 0; i < barrier->count; i++)
		if (barrier->jobs[i].in && !is_over(&barrier->jobs[i]))
			return false;
	return true;
}

/* How far the slowest job is. */
static enum trace_progress barrier_least(const struct barrier *barrier)
{
	enum trace_progress least = TRACE_ENOUGH;

	for (unsigned i = 0; i < barrier->count; i++)
		if (barrier->jobs[i].in && barrier_progress(&barrier->jobs[i]) < least)
			least = barrier_progress(&barrier->jobs[i]);
	return least;
}

void barrier_pass(struct barrier *barrier)
{
	enum trace_progress all = barrier_least(barrier);

	for (unsigned i = 0; i < barrier->count; i++) {
		struct trace *trace = barrier->jobs[i].trace;

		if (!barrier->jobs[i].in)
			continue;
		if (all >= TRACE_SETTLED)
			atomic_store(&trace->may_begin, trace->window_count);
		if (all == TRACE_ENOUGH)
			atomic_store(&trace->may_end, trace->window_count);
	}
}

uint64_t barrier_life(const struct trace *trace)
{
	const struct trace_process *driver = trace_driver(trace);
	uint64_t life = trace->window_now + trace->last_request_ns;

	for (int i = 0; driver != NULL && i < TRACE_COUNT; i++)
		life += driver->counters[i];
	return life;
}

static bool is_lost(struct barrier_job *job, uint64_t now_ns)
{
	uint64_t life = barrier_life(job->trace), gap = now_ns - job->seen_ns;

	if (life != job->life) {
		job->life = life;
		job->seen_ns = now_ns;
		job->gap_ns = gap > job->gap_ns ? gap : job->gap_ns;
		return false;
	}
	return gap > PATIENCE_NS && gap > PATIENCE_TIMES * job->gap_ns;
}

int barrier_lost(struct barrier *barrier, uint64_t now_ns)
{
	enum trace_progress slowest = barrier_least(barrier);
	int lost = -1;

	for (unsigned i = 0; i < barrier->count; i++) {
		struct barrier_job *job = &barrier->jobs[i];

		if (!job->in || is_over(job) || barrier_progress(job) > slowest ||
		    job->trace->first_request_ns == 0)
			job->seen_ns = now_ns; /* nobody waits for it */
		else if (is_lost(job, now_ns))
			lost = (int)i;
	}
	return lost;
}
