/* allocate.h - room for a file that is mapped: a page that can't be had later would be a
 * SIGBUS. */
#ifndef DSA_ALLOCATE_H
#define DSA_ALLOCATE_H

#include <stddef.h>

/* Allocates the first bytes of a file, which grows to hold them. Signals to the calling
 * thread wait for its end. 0 or -errno. */
int allocate_file(int fd, size_t bytes);

#endif
