/*
 * canvas.h - a decoded picture in a place of fixed size.
 *
 *	0        64                          64 + height * width * 3    CANVAS_BYTES
 *	+--------+---------------------------+--------------------------+
 *	| header | height rows of width R G B | zeros                    |
 *	+--------+---------------------------+--------------------------+
 *
 * Rows lie as they are stored in the JPEG; `orientation` says how the picture wants to
 * be turned (exif.h). A picture of more than CANVAS_PIXELS was reduced while it was
 * decoded: to as many eighths of its width and height as fit, and beyond an eighth by
 * whole factors. Numbers are in the machine's own order: a canvas does not leave it.
 */
#ifndef DSA_PREP_CANVAS_H
#define DSA_PREP_CANVAS_H

#include <stdint.h>

enum {
	CANVAS_MAGIC = 0x63617364, /* "dsac" */
	CANVAS_PIXELS = 512 * 512,
	CANVAS_HEADER = 64,
	CANVAS_BYTES = CANVAS_HEADER + 3 * CANVAS_PIXELS,
};

struct canvas {
	uint32_t magic, width, height, orientation;
	uint32_t zero[12];
};

_Static_assert(sizeof(struct canvas) == CANVAS_HEADER, "pixels stay aligned");

#endif
