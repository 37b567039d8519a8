/* jpeg_header.h - what the head of a JPEG says about the picture, without decoding it.
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
 * Reads all that comes before the first scan. Returns 0; -EAGAIN when there must be
 * more bytes to say; -EBADMSG when this is no JPEG.
 */
int jpeg_header_read(const uint8_t *bytes, size_t size, struct jpeg_header *header);

#endif
