/* ranges.c - takes room in the page, and publishes it when it is filled. */
#include "profiler/io/ranges.h"
#include "profiler/io/batch.h"
#include "profiler/io/data_path.h"

#include <stdbool.h>

/* A stretch that goes on where the one before it ends makes that one longer. */
static bool ranges_extend(struct io_page *page, struct fd_entry *entry, uint64_t from,
			  uint64_t to)
{
	uint32_t last = entry->range;

	return last > 0 &&
	       atomic_compare_exchange_strong(&page->ranges[last - 1].to, &from, to);
}

void ranges_read(struct io_page *page, int fd, struct fd_entry *entry, uint64_t from,
		 uint64_t to)
{
	struct io_range *range;
	uint64_t number;

	if (ranges_extend(page, entry, from, to))
		return;
	number = atomic_fetch_add(&page->range_count, 1);
	range = &page->ranges[number % IO_RANGES];
	if (number >= IO_RANGES || data_path_of(fd, range->path, IO_PATH) < 0) {
		atomic_fetch_add(&page->dropped_ranges, 1);
		return;
	}
	range->key = batch_key();
	range->from = from;
	atomic_store(&range->to, to);
	atomic_store(&range->number, number + 1);
	entry->range = (uint32_t)number + 1;
}
