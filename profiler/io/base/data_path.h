/* data_path.h - which files are data by their names, and what descriptors are called. */
#ifndef DSA_IO_DATA_PATH_H
#define DSA_IO_DATA_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * False of code (*.py, *.pyc, *.so, *.so.1, all in a __pycache__), of what lies in /proc,
 * /sys and /dev, but for /dev/shm, and of files whose last name was removed. An empty
 * name, or one that a memory file has ("/memfd:..."), is none of data either.
 */
bool data_path(const char *path);

/* The absolute path of an open file, with its end; its length, or -1 where there is none
 * or it needs more room. */
int data_path_of(int fd, char *path, size_t size);

/* The same of another process; 0: this one. */
int data_path_there(uint32_t pid, int fd, char *path, size_t size);

#endif
