/* ranges.h - what batches of the list read enters the page. */
#ifndef DSA_IO_RANGES_H
#define DSA_IO_RANGES_H

#include "profiler/io/fd_table.h"
#include "profiler/io_page.h"

/* A batch of the list read [from, to) of fd. */
void ranges_read(struct io_page *page, int fd, struct fd_entry *entry, uint64_t from,
		 uint64_t to);

#endif
