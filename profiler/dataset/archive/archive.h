/* archive.h - the bytes of a shard that is made in memory. */
#ifndef DSA_ARCHIVE_H
#define DSA_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

/* Begin with zeros, end with free(bytes). */
struct archive {
	uint8_t *bytes;
	size_t size, room;
};

/* Room for `size` bytes, zeros, behind what is there, until the next call; NULL: no
 * memory. */
uint8_t *archive_more(struct archive *archive, size_t size);

#endif
