#include "tests/lib/memory_object.h"

#include <string.h>

ssize_t memory_object_read(void *state, void *to, size_t size, uint64_t from)
{
	const struct memory_object *memory = state;
	size_t left = from < memory->size ? memory->size - (size_t)from : 0;
	size_t got = size < left ? size : left;

	if (got > memory->most)
		got = memory->most;
	memcpy(to, memory->bytes + from, got);
	return (ssize_t)got;
}
