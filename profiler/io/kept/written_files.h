/*
 * written_files.h - files that the program writes, once there are batches: they enter the
 * page, and what they held before is kept.
 *
 * A file that is truncated gets a second name in the folder of those that are kept, and
 * an empty one with its owner and permissions takes its first, at once. One that another
 * is renamed over, that gets another name or is removed, gets a second name there; so does
 * a symbolic link. Where that can't be, as between file systems or in a folder that can't
 * be written, it is copied; so is one that gets shorter. A second name becomes a copy before
 * the program opens the file to write, or shortens it, by another. Each path once: what is
 * there the second time the program wrote itself, or it is the user's by the new name of a
 * folder, which nobody has changed since files are kept, and is put back beside the first.
 * What was made since then is the program's.
 *
 * One that the program opens to append to, and still has open with the first batch or opens
 * later, is cut off where it ended when it was opened first, once all is put back. One that it
 * writes into without that is kept, with what it changed, when it is overwritten later.
 *
 * All keep errno.
 */
#ifndef DSA_IO_WRITTEN_FILES_H
#define DSA_IO_WRITTEN_FILES_H

#include "profiler/io_page.h"

#include <sys/types.h>

/* A batch was made: keeps files from the first one on. */
void written_begin(struct io_page *page);

/* fd was opened to write. */
void written_opened(struct io_page *page, int fd);

/* Before the file at `path`, from the folder `at` on, is opened and loses what it holds. */
void written_truncates(int at, const char *path);

/* Before the file at `path`, or that is open, gets a length, which may be less than it has. */
void written_shortens(const char *path, off_t length);
void written_shortens_open(int fd, off_t length);

/* Before another is renamed to it, it is renamed or removed; and after the first of these. */
void written_replaces(int at, const char *path);
void written_replaced(int at, const char *path);

#endif
