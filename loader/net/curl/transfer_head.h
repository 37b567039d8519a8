/* transfer_head.h - the head of an answer, line by line. */
#ifndef DSA_NET_TRANSFER_HEAD_H
#define DSA_NET_TRANSFER_HEAD_H

#include <stddef.h>

/* A line, of `size` bytes with its end, for CURLOPT_HEADERFUNCTION; of several that say the
 * same the last one counts. Returns `size`. */
size_t transfer_head(char *line, size_t one, size_t size, void *transfer);

#endif
