/* program_reads.c - sums what the program itself read over the windows. */
#include "profiler/analysis/program_reads.h"
#include "profiler/analysis/shares.h"

static bool program_reads_uses(const struct window *window)
{
	return window->kind == TRACE_REAL && window->ended &&
	       (shares_uses(window) || window->trace->observe);
}

void program_reads_find(const struct window *windows, size_t count,
			struct profile *profile)
{
	double reads = 0, bytes = 0, samples = 0;

	for (size_t i = 0; i < count; i++) {
		struct window_calls calls;

		if (!program_reads_uses(&windows[i]) ||
		    !window_program_reads(windows[i].raw, &calls))
			continue;
		reads += (double)calls.reads;
		bytes += (double)calls.bytes;
		samples += (double)windows[i].raw->samples;
	}
	if (samples <= 0)
		return;
	profile->program_reads_per_sample = reads / samples;
	profile->program_bytes_per_sample = bytes / samples;
}
