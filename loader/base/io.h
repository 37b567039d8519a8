/* io.h - reads and writes all bytes, or reports why it could not. */
#ifndef DSA_IO_H
#define DSA_IO_H

#include <stddef.h>

/* 0 or -errno; -EIO if the file ends before `size` bytes are read. */
int io_read(int fd, void *bytes, size_t size);

/* 0 or -errno. */
int io_write(int fd, const void *bytes, size_t size);

#endif
