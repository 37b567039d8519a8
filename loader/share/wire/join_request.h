/* join_request.h - fills the HELLO of a program. Private to loader/share/. */
#ifndef DSA_SHARE_JOIN_REQUEST_H
#define DSA_SHARE_JOIN_REQUEST_H

#include "loader/share/wire/protocol.h"

struct options;

/* From a program's options. -EINVAL: a shared loader does not support
 * what they ask for. */
int join_request_fill(struct protocol_hello *hello, const struct options *options,
		      struct error *err);

/* Whether a loader's output is that of decoded pictures, of which anything is made. */
bool join_request_decoded(const char *output, uint64_t sample_bytes);

/* A data set's name as both sides compare it: its real path, if it has one. */
void join_request_dataset(const char *dataset, char *name, size_t bytes);

#endif
