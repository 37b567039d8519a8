/* synthetic_jpeg.h - JPEGs made in memory, of the kind that photographs have. */
#ifndef DSA_SOURCE_SYNTHETIC_JPEG_H
#define DSA_SOURCE_SYNTHETIC_JPEG_H

#include <stddef.h>
#include <stdint.h>

struct synthetic_jpeg {
	unsigned char *data; /* free() it */
	size_t size;
};

/*
 * A colour picture of about 500 x 375, baseline, 4:2:0, quality 91, whose content and
 * size in bytes (about 110 KB) depend on the seed. 0 or -ENOMEM.
 */
int synthetic_jpeg_make(uint64_t seed, struct synthetic_jpeg *made);

#endif
