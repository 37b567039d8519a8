/* hook_forget.c - takes back what was observed of a loader that only evaluated. */
#include "loader/base/clock.h"
#include "profiler/hook/hook_state.h"

#include <string.h>

/* What dsa asked for stays. */
static void hook_forget_window(struct trace_window *window)
{
	*window = (struct trace_window){
		.kind = window->kind,
		.flags = window->flags,
		.block = window->block,
		.length_ns = window->length_ns,
	};
}

/* Names of parts stay: processes know them by their numbers. */
static void hook_forget_page(struct io_page *page)
{
	atomic_store(&page->epoch_ends, 0);
	atomic_store(&page->epoch_end_ns, 0);
	atomic_store(&page->epoch_first_ns, 0);
	atomic_store(&page->recipe.told, 0);
	atomic_store(&page->looked_samples, 0);
	atomic_store(&page->dropped_parts, 0);
	for (int i = 0; i < IO_PARTS; i++) {
		atomic_store(&page->parts[i].calls, 0);
		atomic_store(&page->parts[i].ns, 0);
	}
	for (int i = 0; i < IO_SLOWEST; i++)
		atomic_store(&page->slowest[i].ns, 0);
}

void hook_forget_left(struct trace *trace, struct io_page *page)
{
	hook_forget_page(page);
	atomic_store(&trace->epoch_starts, 0);
	atomic_store(&trace->epoch_start_ns, 0);
}

void hook_forget_untrained(struct trace *trace, struct io_page *page)
{
	uint64_t done = atomic_load(&trace->driver_done);
	uint32_t slot = trace->driver;

	if (!trace->observe || !trace->loader.untrained || slot == 0 || done == 0 ||
	    !atomic_compare_exchange_strong(&trace->driver_done, &done, 0))
		return;
	hook_forget_page(page);
	hook_forget_window(&trace->windows[0]);
	memset(&trace->processes[slot - 1], 0, sizeof(trace->processes[0]));
	atomic_store(&trace->window_now, 0);
	atomic_store(&trace->step_count, 0);
	atomic_store(&trace->batch_count, 0);
	atomic_store(&trace->dropped_steps, 0);
	atomic_store(&trace->dropped_batches, 0);
	atomic_store(&trace->epoch_starts, 0);
	atomic_store(&trace->epoch_start_ns, 0);
	atomic_store(&trace->loaders, 0);
	atomic_store(&trace->loader_ready, 0);
	atomic_store(&trace->first_request_ns, clock_now());
	atomic_store(&trace->driver, 0);
}
