/* jpeg_header.h - reads the dimensions and kind of a JPEG without decoding it.
 */
#ifndef DSA_JPEG_HEADER_H
#define DSA_JPEG_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much coarser colour is stored than light. */
enum jpeg_sampling {
	JPEG_444,
	JPEG_422,
	JPEG_420,
	JPEG_440,
	JPEG_411,
	JPEG_OTHER,
	JPEG_SAMPLINGS
};

struct jpeg_header {
	unsigned width, height; /* pixels, as stored; neither is 0 */
	unsigned components;    /* 1 grey, 3 colour, 4 CMYK */
	enum jpeg_sampling sampling;
	bool progressive;
	bool restarts; /* has restart markers */
};

/*
 * Reads the segments before the first scan. Returns 0; -EAGAIN when `size` bytes are
 * too few; -EBADMSG when they are no JPEG.
 */
int jpeg_header_read(const uint8_t *bytes, size_t size, struct jpeg_header *header);

#endif
