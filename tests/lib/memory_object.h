/* memory_object.h - bytes as an object that a reader of shards reads. */
#ifndef DSA_TESTS_MEMORY_OBJECT_H
#define DSA_TESTS_MEMORY_OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_object {
	unsigned char *bytes;
	size_t size, most; /* most: that a read gives */
};

/* Of a struct shard_object, whose state it is. */
ssize_t memory_object_read(void *state, void *to, size_t size, uint64_t from);

#endif
