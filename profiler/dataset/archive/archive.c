/* archive.c - grows by half each time. */
#include "profiler/dataset/archive/archive.h"

#include <stdlib.h>
#include <string.h>

uint8_t *archive_more(struct archive *archive, size_t size)
{
	size_t wanted = archive->size + size;
	uint8_t *added;

	if (wanted > archive->room) {
		size_t room = wanted + wanted / 2;
		uint8_t *moved = realloc(archive->bytes, room);

		if (moved == NULL)
			return NULL;
		archive->bytes = moved;
		archive->room = room;
	}
	added = archive->bytes + archive->size;
	memset(added, 0, size);
	archive->size = wanted;
	return added;
}
