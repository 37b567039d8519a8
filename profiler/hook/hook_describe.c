/* hook_describe.c - copies what the hook says into the session. */
#include "profiler/hook/hook_describe.h"

/* What is read beside data, as libraries that are opened, is less: a share, bytes of a
 * batch. */
#define LACKS_SHARE .05
#define LACKS_BYTES 16384

struct hook_seen hook_seen_before(const struct io_page *page)
{
	uint64_t seen = io_page_total(page, IO_seen_bytes);

	return (struct hook_seen){io_page_total(page, IO_proc_bytes), seen};
}

struct hook_seen hook_seen_after(const struct io_page *page)
{
	uint64_t proc = io_page_total(page, IO_proc_bytes);

	return (struct hook_seen){proc, io_page_total(page, IO_seen_bytes)};
}

bool hook_seen_lacks(const struct hook_seen *seen, uint64_t batches)
{
	uint64_t lacks = seen->proc_bytes > seen->seen_bytes
				 ? seen->proc_bytes - seen->seen_bytes
				 : 0;

	return (double)lacks > LACKS_SHARE * (double)seen->proc_bytes &&
	       lacks > LACKS_BYTES * batches;
}

/* How the batches read that were made so far: HOOK_UNSEEN. */
static uint32_t hook_unseen(const struct io_page *page)
{
	uint64_t count = atomic_load(&page->batch_count);
	struct hook_seen seen = hook_seen_after(page);
	uint32_t unseen = hook_seen_lacks(&seen, count) ? TRACE_CALLS : 0;

	for (uint64_t i = 0; i < count && i < IO_BATCHES; i++)
		unseen |= page->batches[i].flags & HOOK_UNSEEN;
	return unseen;
}

static const char *hook_no_list(const struct hook_about *from, uint32_t unseen)
{
	if (from->no_list != NULL)
		return from->no_list;
	if (unseen & TRACE_MAPPED)
		return "mapped files";
	if (unseen & TRACE_SOCKET)
		return "connections";
	if (unseen & TRACE_FORKED)
		return "processes that are started";
	return unseen != 0 ? "calls that are not seen" : "";
}

/* What a sample reads, by the batches that were made as a whole; 0: unknown. */
static double hook_sample_bytes(const struct io_page *page)
{
	uint64_t count = atomic_load(&page->batch_count);
	double bytes = 0, samples = 0;

	for (uint64_t i = 0; i < count && i < IO_BATCHES; i++) {
		const struct io_batch *batch = &page->batches[i];

		if (atomic_load_explicit(&batch->number, memory_order_acquire) == 0)
			continue;
		bytes += (double)batch->bytes;
		samples += batch->samples;
	}
	return samples > 0 ? bytes / samples : 0;
}

/* An emulated storage has no cache in front of it. Data of which no file is read lies in
 * memory, unless processes may read it that nobody knows. */
void hook_describe(const struct hook_about *from, const struct io_page *page,
		   struct trace_loader *about)
{
	uint32_t unseen = hook_unseen(page);
	bool reads = io_page_total(page, IO_bytes) > 0;
	bool slowed = page->storage_bandwidth > 0 || page->storage_latency > 0;

	*about = (struct trace_loader){
		.kind = from->kind,
		.estimated = 1,
		.dataset_samples = from->samples,
		.steps_per_epoch = from->steps_per_epoch,
		.batch = from->batch,
		.workers = from->workers,
		.prefetch = from->prefetch,
		.any_order = from->any_order,
		.untrained = from->untrained,
		.apart = from->apart,
		.fetch_depth = 1,
		.slots = from->workers * from->prefetch + 1,
		.memory = !reads && unseen == 0 && from->kind != TRACE_WATCH,
		.engine = "its own",
		.engine_reason = "the program reads its files itself",
		.prep = "its own",
		.output = "its own",
		.storage_bandwidth = page->storage_bandwidth,
		.storage_latency = page->storage_latency,
		.prep_delay = page->prep_delay,
		.rank = page->world > 0 ? page->rank - 1 : 0,
		.world = page->world,
	};
	about->dataset_bytes =
		(uint64_t)(hook_sample_bytes(page) * (double)from->samples);
	io_copy_text(about->dataset, sizeof(about->dataset), from->dataset);
	io_copy_text(about->source, sizeof(about->source), from->source);
	io_copy_text(about->no_list, sizeof(about->no_list),
		     hook_no_list(from, unseen));
	io_copy_text(about->cache, sizeof(about->cache), slowed ? "none" : "page");
}
