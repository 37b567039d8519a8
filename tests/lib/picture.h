/* picture.h - JPEGs of every kind, made in memory. */
#ifndef DSA_TESTS_PICTURE_H
#define DSA_TESTS_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum picture_color {
	PICTURE_YCC,
	PICTURE_GRAY,
	PICTURE_RGB,
	PICTURE_CMYK,
	PICTURE_YCCK
};

enum { PICTURE_SCANS = 1 + 3 * 63 };

struct picture {
	unsigned width, height;
	enum picture_color color;
	int h, v;               /* sampling factors of luma; 0: 1 */
	int chroma_h, chroma_v; /* of chroma; 0: 1 */
	int quality;            /* 0: 91 */
	bool progressive;
	int scans;            /* of 190: DC, then every AC coefficient; 0: as usual */
	int restart;          /* MCU rows between restart markers; 0: none */
	unsigned orientation; /* 0: no Exif */
	bool no_adobe;        /* CMYK without Adobe's marker: ink stored as ink */
};

/*
 * The picture's JPEG: smooth shades, edges and noise that depend on the coordinates
 * alone. The caller frees it. Fails the test when it can't be made.
 */
unsigned char *picture_jpeg(const struct picture *picture, size_t *size);

/* Where a marker's second byte stands in a JPEG; fails the test when it has none. */
size_t picture_marker(const unsigned char *jpeg, size_t size, int marker);

#endif
