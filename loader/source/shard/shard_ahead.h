/*
 * shard_ahead.h - reads an object's next bytes in a thread of its own, one stretch at a
 * time, while its caller looks at those before them.
 */
#ifndef DSA_SHARD_AHEAD_H
#define DSA_SHARD_AHEAD_H

#include "loader/source/shard/shard_reader.h"

/* NULL: memory is short, or no thread can be had. `object` outlives it. */
struct shard_ahead *shard_ahead_new(const struct shard_object *object);

/* Waits for what was begun. NULL is allowed. */
void shard_ahead_free(struct shard_ahead *ahead);

/* Begins to read `size` bytes at `from` into `to`, which is the thread's until
 * shard_ahead_end(). */
void shard_ahead_begin(struct shard_ahead *ahead, unsigned char *to, uint64_t from,
		       size_t size);

/* Waits for it: as object->read() returned. */
ssize_t shard_ahead_end(struct shard_ahead *ahead);

#endif
