/* ranges.c - takes room in the page, and publishes it when it is filled. */
#include "profiler/io/ranges.h"
#include "profiler/io/batch.h"
#include "profiler/io/data_path.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

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

static bool ranges_known(const struct io_page *page, const char *path)
{
	uint64_t count = page->written_count;

	for (uint64_t i = 0; i < count && i < IO_WRITTEN; i++)
		if (page->written[i].number > 0 &&
		    strcmp(page->written[i].path, path) == 0)
			return true;
	return false;
}

void ranges_written(struct io_page *page, int fd)
{
	char path[IO_PATH];
	struct stat status;
	int length;
	uint64_t number;

	if (page->batch_count == 0 || fstat(fd, &status) < 0 ||
	    !S_ISREG(status.st_mode))
		return;
	length = data_path_of(fd, path, sizeof(path));
	if (length > 0 && (!data_path(path) || ranges_known(page, path)))
		return;
	number = length > 0 ? atomic_fetch_add(&page->written_count, 1) : IO_WRITTEN;
	if (number >= IO_WRITTEN) {
		atomic_fetch_add(&page->dropped_written, 1);
		return;
	}
	memcpy(page->written[number].path, path, (size_t)length + 1);
	atomic_store(&page->written[number].number, number + 1);
}
