/* io_part.h - a test as a process of a program that dsa measures: the page, files, reads
 * as the wrappers make them. */
#ifndef DSA_TESTS_IO_PART_H
#define DSA_TESTS_IO_PART_H

#include "profiler/io_page.h"

#include <stddef.h>

/* Of a test in a folder of its own, with a page there that this process takes part in. */
int io_part_setup(void **state);
int io_part_teardown(void **state);

/* The page. */
struct io_page *io_part_page(void);

/* As the constructor does, with that file. */
void io_part_attach(const char *path);

/* A child that is forked as the C library would have told us. Returns its pid, 0 there. */
int io_part_fork(void);

/* The wrappers. They return what the real ones do. */
int io_part_open(const char *path, int flags);
void io_part_close(int fd);
long io_part_read(int fd, size_t size);
long io_part_pread(int fd, size_t size, long at);

/* A whole batch: opens a file, reads all of it in one call, closes it. */
void io_part_batch(uint64_t key, const char *path);

/* The record of the batch that was made last. */
const struct io_batch *io_part_last(void);

#endif
