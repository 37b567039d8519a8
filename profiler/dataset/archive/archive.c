/* archive.c - adds to an archive's bytes. */
#include "profiler/dataset/archive/archive.h"
#include "loader/base/bytes/array.h"

#include <string.h>

uint8_t *archive_more(struct archive *archive, size_t size)
{
	size_t wanted = archive->size + size;
	uint8_t *bytes = array_grow(archive->bytes, &archive->room, wanted, 1);

	if (bytes == NULL)
		return NULL;
	archive->bytes = bytes;
	bytes += archive->size;
	memset(bytes, 0, size);
	archive->size = wanted;
	return bytes;
}
