/* residency.h - how much of a file lies in the page cache. */
#ifndef DSA_IO_RESIDENCY_H
#define DSA_IO_RESIDENCY_H

#include <stdint.h>

/* Of [from, from + length), length > 0, how many bytes: whole pages, at most length. 0 or
 * -errno: the kernel does not say, to this user. */
int residency(int fd, uint64_t from, uint64_t length, uint64_t *bytes);

/* The same by mincore(2) alone. */
int residency_mincore(int fd, uint64_t from, uint64_t length, uint64_t *bytes);

#endif
