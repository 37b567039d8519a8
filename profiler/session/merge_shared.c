/* merge_shared.c - joins the sessions of jobs and of their loader. */
#include "profiler/session/merge_shared.h"
#include "loader/base/trace.h"
#include "profiler/session/window.h"

#include <stddef.h>

/* What a loader counts, wherever it runs; all else is of the training. */
static const enum trace_counter of_loader[] = {
	TRACE_prepared_samples, TRACE_prep_ns,         TRACE_prep_cpu_ns,
	TRACE_prep_padded,      TRACE_fetched_samples, TRACE_fetched_bytes,
	TRACE_fetch_ns,         TRACE_fetch_cpu_ns,    TRACE_hit_samples,
	TRACE_hit_bytes,        TRACE_staged_samples,  TRACE_staged_bytes,
	TRACE_throttle_reads,   TRACE_throttle_bytes,  TRACE_throttle_busy_ns,
	TRACE_bare_cpu_ns,      TRACE_full_cpu_ns,     TRACE_prepared_bytes,
	TRACE_disk_samples,     TRACE_disk_bytes,      TRACE_disk_ns,
	TRACE_disk_written,     TRACE_disk_refused,    TRACE_disk_dropped,
	TRACE_disk_stale,       TRACE_disk_full,       TRACE_wanted_gets,
	TRACE_retried_gets,     TRACE_listing_gets,
};

void merge_shared_describe(struct trace *job, const struct trace *loader)
{
	uint32_t batch = job->loader.batch;
	double emulated_per_s = job->loader.emulated_per_s;

	job->loader = loader->loader;
	job->loader.shared = 1;
	job->loader.batch = batch;
	job->loader.emulated_per_s = emulated_per_s;
	if (batch > 0)
		job->loader.steps_per_epoch =
			(loader->loader.dataset_samples + batch - 1) / batch;
}

void merge_shared_turn(struct trace *job, const struct trace *loader)
{
	uint32_t count = job->window_count, turn;

	if (count == 0 || count != loader->window_count)
		return;
	turn = loader->windows[count - 1].turn;
	if (turn != job->windows[count - 1].turn)
		atomic_store(&job->windows[count - 1].turn, turn);
}

static void add_snapshot(struct trace_snapshot *job,
			 const struct trace_snapshot *loader)
{
	for (size_t i = 0; i < sizeof(of_loader) / sizeof(of_loader[0]); i++)
		job->counters[of_loader[i]] = loader->counters[of_loader[i]];
	job->read_bytes = loader->read_bytes;
	job->cache_bytes = loader->cache_bytes;
	job->cpu_ns += loader->cpu_ns;
}

static void merge_shared_take_over(struct trace_window *job,
				   const struct trace_window *loader)
{
	job->flags = loader->flags;
	job->steps = 0;
	job->samples = loader->samples;
	job->switch_ns = loader->switch_ns;
	job->begin = loader->begin;
	job->end = loader->end;
	job->state = loader->state;
}

void merge_shared_window(struct trace *job, const struct trace *loader, unsigned index,
			 bool lead)
{
	const struct trace_window *from = &loader->windows[index];
	struct trace_window *to = &job->windows[index];

	to->staged = from->staged;
	to->staged_repeats = from->staged_repeats;
	if (window_delivers(from->kind)) {
		add_snapshot(&to->begin, &from->begin);
		add_snapshot(&to->end, &from->end);
		to->flags &= ~(unsigned)TRACE_UNMERGED;
		if (from->state != TRACE_DONE)
			to->state = TRACE_REFUSED;
	} else if (lead) {
		merge_shared_take_over(to, from);
	}
}

void merge_shared_totals(struct trace_process *to, const struct trace *from)
{
	for (size_t i = 0; i < sizeof(of_loader) / sizeof(of_loader[0]); i++)
		for (unsigned at = 0; at < TRACE_PROCESSES; at++)
			trace_add(to, of_loader[i],
				  from->processes[at].counters[of_loader[i]]);
}
