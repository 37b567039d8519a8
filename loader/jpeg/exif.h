/* exif.h - how a JPEG wants to be turned. */
#ifndef DSA_EXIF_H
#define DSA_EXIF_H

#include <stddef.h>

/*
 * The orientation tag (Exif 2.32, 4.6.4, tag 0x0112) of a JPEG's APP1 segment,
 * 1 to 8; 1 when there is none or it makes no sense. Row 0 and column 0 as
 * stored are, in the upright picture:
 *
 *	1 top, left	2 top, right	3 bottom, right	4 bottom, left
 *	5 left, top	6 right, top	7 right, bottom	8 left, bottom
 */
unsigned exif_orientation(const unsigned char *jpeg, size_t size);

#endif
