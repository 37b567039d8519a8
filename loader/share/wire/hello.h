/* hello.h - what a program tells a shared loader of itself. Private to loader/share/. */
#ifndef DSA_SHARE_HELLO_H
#define DSA_SHARE_HELLO_H

#include "loader/share/wire/protocol.h"

struct options;

/* From a program's options; the stand is left empty. -EINVAL: a shared loader can't do
 * what they ask for. */
int hello_fill(struct protocol_hello *hello, const struct options *options,
	       struct error *err);

/* Whether a loader's output is that of decoded pictures, of which anything is made. */
bool hello_decoded(const char *output, uint64_t sample_bytes);

/* A data set's name as both sides compare it: its real path, if it has one. */
void hello_dataset(const char *dataset, char *name, size_t bytes);

#endif
