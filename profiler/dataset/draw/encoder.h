/*
 * encoder.h - RGB to JPEG as cameras' pictures come to a training set: baseline, 4:2:0, the
 * standard Huffman tables, no restart markers.
 */
#ifndef DSA_ENCODER_H
#define DSA_ENCODER_H

#include <stddef.h>
#include <stdint.h>

struct encoder;

/* One encoder serves one thread. NULL when memory is short. */
struct encoder *encoder_new(void);
void encoder_free(struct encoder *encoder);

/*
 * Encodes sides[0] x sides[1] pixels, width x height, of R G B, which want to be turned as
 * `orientation` says (loader/jpeg/exif.h; 1: not at all). Returns the bytes, which are the encoder's
 * and last until its next call, and their number in *size; NULL when memory is short.
 */
const uint8_t *encoder_run(struct encoder *encoder, const uint8_t *rgb,
			   const unsigned sides[2], unsigned orientation, int quality,
			   size_t *size);

#endif
