/* io.h - whole transfers between a file and memory, room for a file, the end of a stream
 * in memory. */
#ifndef DSA_IO_H
#define DSA_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* 0 or -errno; -EIO if the file ends before `size` bytes are read. */
int io_read(int fd, void *bytes, size_t size);

/* What these make longer than RLIMIT_FSIZE allows is -EFBIG, and no SIGXFSZ. */

/* 0 or -errno. */
int io_write(int fd, const void *bytes, size_t size);

/* ftruncate(): 0 or -errno. */
int io_truncate(int fd, size_t bytes);

/*
 * Allocates the first bytes of a file, which grows to hold them: of one that is mapped
 * a page that can't be had later would be a SIGBUS. Signals to the calling thread wait
 * for its end. 0 or -errno.
 */
int io_allocate(int fd, size_t bytes);

/*
 * A file that gets its name only when it is complete, so that nobody ever finds half of
 * one. Makes it (0600), to be read and written, for where `path` will lie; *named: the file
 * system can't do that, and it has the name from the start, which nothing had before.
 * Returns the descriptor or -errno.
 */
int io_new_file(const char *path, bool *named);

/* Gives it the name, which nothing may have. 0 or -errno. */
int io_name_file(int fd, const char *path);

/* Ends a stream that open_memstream() made. Returns *text, to be freed; or NULL, and
 * frees it, when memory was short. */
char *io_text(FILE *stream, char **text);

#endif
