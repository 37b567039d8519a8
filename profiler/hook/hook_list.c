/* hook_list.c - keeps what the batches of a list took. */
#include "profiler/hook/hook_list.h"
#include "profiler/io/dsa_io.h"

bool hook_list_record(const struct io_page *page, uint64_t number, struct io_batch *to)
{
	const struct io_batch *from = &page->batches[number % IO_BATCHES];

	if (atomic_load_explicit(&from->number, memory_order_acquire) != number + 1)
		return false;
	*to = (struct io_batch){
		.key = from->key,
		.loader = from->loader,
		.begin_ns = from->begin_ns,
		.end_ns = from->end_ns,
		.io_ns = from->io_ns,
		.own_io_ns = from->own_io_ns,
		.cpu_ns = from->cpu_ns,
		.bytes = from->bytes,
		.storage_bytes = from->storage_bytes,
		.digest = from->digest,
		.opens = from->opens,
		.reads = from->reads,
		.samples = from->samples,
		.pid = from->pid,
		.flags = from->flags,
	};
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&from->number, memory_order_relaxed) == number + 1;
}

void hook_list_begin(struct hook_list *list, struct io_page *page)
{
	list->count = 0;
	list->whole = false;
	list->dropped = page->dropped_ranges;
	dsa_io_list_clear();
	list->first = atomic_load(&page->batch_count);
	atomic_store(&page->listing, 1);
}

void hook_list_end(struct hook_list *list, struct io_page *page)
{
	uint64_t end = atomic_load(&page->batch_count);
	struct io_batch batch;

	atomic_store(&page->listing, 0);
	list->whole = true;
	list->unlisted = (uint32_t)(page->dropped_ranges - list->dropped);
	for (uint64_t i = list->first; i < end; i++) {
		if (list->count == HOOK_LIST_BATCHES ||
		    !hook_list_record(page, i, &batch)) {
			list->whole = false;
			continue;
		}
		list->batches[list->count++] = (struct hook_listed){
			.key = batch.key,
			.digest = batch.digest,
			.bytes = batch.bytes,
			.opens = batch.opens,
		};
	}
}

bool hook_list_agrees(const struct hook_list *list, const struct io_batch *batch)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct hook_listed *listed = &list->batches[i];

		if (listed->key == batch->key && listed->digest == batch->digest &&
		    listed->bytes == batch->bytes && listed->opens == batch->opens)
			return true;
	}
	return false;
}
