/* converted.h - what loader/gpu/convert.ptx is to make of bytes, in C: bit by bit. */
#ifndef CONVERTED_H
#define CONVERTED_H

#include <stdint.h>

enum converted_type { CONVERTED_F32, CONVERTED_F16, CONVERTED_U8 };

/* `count` pictures of `area` pixels, three bytes each, to their place in the layout. */
struct converted {
	enum converted_type type;
	uint32_t area;
	uint32_t step, plane; /* from pixel to pixel, from colour to colour: numbers */
	float factor[3], offset[3]; /* of float types: byte * factor + offset */
};

void converted(const struct converted *how, const uint8_t *from, void *to,
	       uint32_t count);

/* IEEE 754 binary16, ties to even. */
uint16_t converted_half(float value);

#endif
