/* read_file.h - a file's bytes, all of them or a failure. */
#ifndef DSA_SOURCE_WHOLE_H
#define DSA_SOURCE_WHOLE_H

#include <stddef.h>

/* 0 or -errno; -EIO if the file ends before `size` bytes are read. */
int read_file_read(int fd, void *bytes, size_t size);

/* 0 or -errno. Returns when the bytes are on the disk. */
int read_file_write(int fd, const void *bytes, size_t size);

#endif
