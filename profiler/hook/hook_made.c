/* hook_made.c - adds what batches took to the window that they were made in. */
#include "profiler/hook/hook_state.h"

#include <unistd.h>

/* Of batches: these wait for code, where no data is read. */
#define BLIND_SHARE .05

/* Percent of the time in I/O: the thread that asks for batches reads them itself. */
#define OWN_READS 98

/*
 * An observed program may have more batches than there is room for. Those of each `stride`th
 * epoch stay, whole ones, as only what was made in a row can be replayed. Makes room, if
 * there is more than one. Returns how many records there are.
 */
static uint32_t hook_thin(struct hook *hook, struct trace_window *window)
{
	struct trace *trace = hook->trace;
	struct trace_batch *batches = trace->batches;
	uint32_t first = window->first_batch, count = TRACE_BATCHES;

	while (first < TRACE_BATCHES && count == TRACE_BATCHES &&
	       batches[first].epoch != batches[count - 1].epoch) {
		uint32_t kept = first;

		hook->stride *= 2;
		atomic_store(&trace->batch_count, first);
		for (uint32_t i = first; i < count; i++)
			if (batches[i].epoch % hook->stride == 0)
				batches[kept++] = batches[i];
		atomic_fetch_add(&trace->dropped_batches, count - kept);
		count = kept;
	}
	window->batch_records = count - first;
	atomic_store_explicit(&trace->batch_count, count, memory_order_release);
	return count;
}

/* True where it was made for an epoch that the program begins just now. */
static bool hook_is_next(const struct hook *hook, const struct io_batch *batch)
{
	if (hook->next_ns == UINT64_MAX)
		return false;
	return batch->loader == 0 || hook->loader == hook->before
		       ? batch->begin_ns >= hook->next_ns
		       : batch->loader == hook->loader;
}

/* Of another loader, as one that validates; or made for an epoch that the program has left. */
static bool hook_is_strange(const struct hook *hook, const struct io_batch *batch)
{
	if (hook->loader == 0 || batch->loader == 0 || batch->loader == hook->loader)
		return false;
	for (int i = 0; i < HOOK_BESIDE; i++)
		if (batch->loader == hook->beside[i])
			return false;
	return batch->loader != hook->before || hook->next_ns == UINT64_MAX;
}

static void hook_store_batch(struct hook *hook, const struct io_batch *batch,
			     struct trace_window *window)
{
	struct trace *trace = hook->trace;
	uint32_t at = atomic_load_explicit(&trace->batch_count, memory_order_relaxed);
	uint32_t epoch = hook->epoch + hook_is_next(hook, batch);

	/* Where a worker's data ended it made none. */
	if (batch->samples == 0 ||
	    (window->kind != TRACE_REAL && window->kind != TRACE_CACHED))
		return;
	if (at >= TRACE_BATCHES && trace->observe)
		at = hook_thin(hook, window);
	if (at >= TRACE_BATCHES || epoch % hook->stride != 0) {
		atomic_fetch_add(&trace->dropped_batches, 1);
		return;
	}
	trace->batches[at] = (struct trace_batch){
		.window = hook->driver.index,
		.worker = batch->pid,
		.begin_ns = batch->begin_ns,
		.end_ns = batch->end_ns,
		.io_ns = batch->io_ns,
		.cpu_ns = batch->cpu_ns,
		.bytes = batch->bytes,
		.samples = batch->samples,
		.opens = batch->opens,
		.epoch = epoch,
	};
	window->batch_records++;
	atomic_store_explicit(&trace->batch_count, at + 1, memory_order_release);
}

static void hook_add_batch(struct hook *hook, const struct io_batch *batch,
			   struct trace_window *window)
{
	struct trace_made *made = &window->made;

	if (hook->watched && batch->pid != (uint32_t)getpid())
		return; /* of a loader below the one that is watched */
	if (hook_is_strange(hook, batch))
		return;
	hook->own_io_ns += batch->own_io_ns;
	hook->blind += batch->bytes == 0 && batch->storage_bytes > 0;
	made->batches++;
	made->unseen |= batch->flags & HOOK_UNSEEN;
	made->other += hook->compares && !hook_list_agrees(&hook->list, batch);
	made->opens += batch->opens;
	made->bytes += batch->bytes;
	made->storage_bytes += batch->storage_bytes;
	made->io_ns += batch->io_ns;
	hook_store_batch(hook, batch, window);
}

void hook_add_batches(struct hook *hook, struct trace_window *window)
{
	uint64_t end = atomic_load(&hook->page->batch_count);
	struct io_batch batch;

	for (; hook->counted < end; hook->counted++) {
		if (hook_list_record(hook->page, hook->counted, &batch))
			hook_add_batch(hook, &batch, window);
		else
			window->made.lost++;
	}
}

/* Its batches are begun before its first one is asked for, and after the last one of the
 * epoch before came. */
void hook_begin_epoch(struct hook *hook)
{
	if (!hook->trace->observe || hook->driver.window == NULL)
		return;
	hook->next_ns = hook->delivered_ns;
	hook_add_batches(hook, hook->driver.window);
	hook->next_ns = UINT64_MAX;
	hook->epoch++;
}

void hook_begin_io(struct hook *hook)
{
	hook->seen = hook_seen_before(hook->page);
	hook->blind = 0;
	hook->io_ns = io_page_total(hook->page, IO_io_ns);
	hook->own_io_ns = 0;
}

/* What the kernel counted beyond what was seen. Some batches wait for code alone. */
void hook_end_io(struct hook *hook, struct trace_made *made)
{
	struct hook_seen seen = hook_seen_after(hook->page);

	seen.proc_bytes -= hook->seen.proc_bytes;
	seen.seen_bytes -= hook->seen.seen_bytes;
	made->proc_bytes += seen.proc_bytes;
	made->seen_bytes += seen.seen_bytes;
	if (hook_seen_lacks(&seen, made->batches) ||
	    (hook->blind > 1 && hook->blind > BLIND_SHARE * made->batches))
		made->unseen |= TRACE_CALLS;
}

bool hook_tells_io(const struct hook *hook, const struct trace_window *window)
{
	uint64_t all = io_page_total(hook->page, IO_io_ns) - hook->io_ns;

	return !hook->watched || (all > 0 && window->made.unseen == 0 &&
				  100 * hook->own_io_ns >= OWN_READS * all);
}
