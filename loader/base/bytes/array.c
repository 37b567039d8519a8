/* array.c - doubles an array until it is large enough. */
#include "loader/base/bytes/array.h"
#include "loader/base/bytes/huge.h"

#include <stdlib.h>

enum { ARRAY_LEAST = 16 };

void *array_grow(void *array, size_t *room, size_t wanted, size_t size)
{
	size_t more = *room < ARRAY_LEAST ? ARRAY_LEAST : *room;
	void *moved;

	if (wanted <= *room)
		return array;
	while (more < wanted)
		more *= 2;
	moved = realloc(array, more * size);
	if (moved == NULL)
		return NULL;
	huge_advise(moved, more * size);
	*room = more;
	return moved;
}
