/* work_counts.c - counters of a session as counts of a profile. */
#include "profiler/session/work_counts.h"
#include "loader/base/trace.h"
#include "profiler/profile.h"
#include "profiler/session/window.h"

#include <errno.h>

/* In the one window of an observed run, which is over. */
static void work_counts_read_program(const struct trace *trace,
				     struct profile_counted *counted)
{
	const struct trace_window *all = &trace->windows[0];
	struct window_calls calls;

	counted->program_reads = counted->program_bytes = UNKNOWN;
	if (!trace->observe || all->state != TRACE_DONE ||
	    !window_program_reads(all, &calls))
		return;
	counted->program_reads = calls.reads;
	counted->program_bytes = calls.bytes;
}

int work_counts_read(const struct trace *trace, struct profile_counted *counted)
{
	const struct trace_process *driver = trace_driver(trace);

	if (driver == NULL || driver->counters[TRACE_delivered_samples] == 0 ||
	    driver->counters[TRACE_shared_samples] > 0)
		return -ENODATA;
	*counted = (struct profile_counted){
		.samples = driver->counters[TRACE_delivered_samples],
		.opens = driver->counters[TRACE_counted_opens],
		.reads = driver->counters[TRACE_counted_reads],
		.read_bytes = driver->counters[TRACE_counted_read_bytes],
		.hits = driver->counters[TRACE_counted_hits],
		.decoded_pixels = driver->counters[TRACE_counted_pixels],
		.skipped = driver->counters[TRACE_counted_skipped],
		.device_bytes = trace->loader.device[0] == '\0'
					? UNKNOWN
					: driver->counters[TRACE_counted_device_bytes],
	};
	if (trace->loader.kind != TRACE_LIBDSA)
		counted->hits = counted->decoded_pixels = counted->skipped = UNKNOWN;
	if (trace->loader.kind == TRACE_WATCH) /* its threads read ahead */
		counted->opens = counted->reads = counted->read_bytes = UNKNOWN;
	work_counts_read_program(trace, counted);
	return 0;
}
