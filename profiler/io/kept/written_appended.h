/* written_appended.h - files that the program opens to append to: they are cut off where they
 * ended, once all is put back. */
#ifndef DSA_WRITTEN_APPENDED_H
#define DSA_WRITTEN_APPENDED_H

#include "profiler/io_page.h"

#include <stdbool.h>

/* One that the program opened to add to; NULL: it did not. */
struct io_appended *written_appended(struct io_page *page, const char *path);

/* The process that opened it has it open still, by any descriptor: a shell gives its own
 * another number. */
bool written_is_open(const struct io_appended *appended);

/* It is to be cut off where it ended. A file of no bytes has its number until that is done. */
void written_tell(struct io_page *page, struct io_appended *appended);

/* fd was opened. Before the first batch nothing is repeated yet: what is open by then counts,
 * and later what is opened for the first time. */
void written_opens_to_add(struct io_page *page, int fd, bool first);

#endif
