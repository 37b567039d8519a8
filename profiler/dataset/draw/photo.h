/*
 * photo.h - the pictures of a made data set, as files: whose class, how large, and the
 * JPEG itself.
 *
 * Most pictures are 4:3 or 3:2, half of them of one common width, the others larger or
 * smaller with their file. A mean of 110 KB gives about 500 x 375.
 */
#ifndef DSA_PHOTO_H
#define DSA_PHOTO_H

#include "profiler/dataset/draw/draw.h"

struct photo;

/* What one thread makes pictures with; NULL when memory is short. */
struct photo *photo_new(const struct draw_config *config);
void photo_free(struct photo *photo);

/*
 * Picture number n, which depends on n and the config alone. Returns its bytes, valid
 * until the next call, and their number in *size; NULL when memory is short.
 */
const uint8_t *photo_take(struct photo *photo, uint32_t number, size_t *size);

#endif
