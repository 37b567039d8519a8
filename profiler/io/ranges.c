/* ranges.c - takes room in the page, and publishes it when it is filled. */
#include "profiler/io/ranges.h"
#include "profiler/io/base/data_path.h"
#include "profiler/io/batch.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* A stretch that goes on where the one before it ends makes that one longer. */
static bool ranges_extend(struct io_page *page, struct fd_entry *entry, uint64_t from,
			  uint64_t to)
{
	uint32_t last = entry->range;

	return last > 0 &&
	       atomic_compare_exchange_strong(&page->ranges[last - 1].to, &from, to);
}

/* Sets where the path of fd stands; false: there is no room. */
static bool ranges_name(struct io_page *page, int fd, uint32_t *place)
{
	char path[PATH_MAX];
	int length = data_path_of(fd, path, sizeof(path));
	uint64_t at;

	if (length < 0)
		return false;
	at = atomic_fetch_add(&page->path_bytes, (uint64_t)length + 1);
	if (at > IO_PATHS - (uint64_t)length - 1)
		return false;
	memcpy(page->paths + at, path, (size_t)length + 1);
	*place = (uint32_t)at;
	return true;
}

void ranges_read(struct io_page *page, int fd, struct fd_entry *entry, uint64_t from,
		 uint64_t to)
{
	uint32_t last = entry->range;
	struct io_range *range;
	uint64_t number;

	if (ranges_extend(page, entry, from, to))
		return;
	number = atomic_fetch_add(&page->range_count, 1);
	range = &page->ranges[number % IO_RANGES];
	if (number >= IO_RANGES ||
	    (last == 0 && !ranges_name(page, fd, &range->path))) {
		atomic_fetch_add(&page->dropped_ranges, 1);
		return;
	}
	if (last > 0)
		range->path = page->ranges[last - 1].path;
	range->key = batch_key();
	range->from = from;
	atomic_store(&range->to, to);
	atomic_store(&range->number, number + 1);
	entry->range = (uint32_t)number + 1;
}
