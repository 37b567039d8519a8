/* archive.h - the bytes of a shard that is made in memory. */
#ifndef DSA_ARCHIVE_H
#define DSA_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begin with zeros, end with free(bytes). */
struct archive {
	uint8_t *bytes;
	size_t size, room;
};

struct shard_sample {
	uint32_t number, label; /* number: of the sample in the data set */
	bool numbered; /* the label can't be had from the names of all classes */
	const char *class, *ending; /* ending: of its name as a file, "jpg" */
	const void *bytes;
	size_t size;
};

/* Room for `size` bytes, zeros, behind what is there, until the next call; NULL: no
 * memory. */
uint8_t *archive_more(struct archive *archive, size_t size);

#endif
