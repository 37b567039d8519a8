/*
 * encode.h - RGB to JPEG as cameras' pictures come to a training set: baseline, 4:2:0,
 * the standard Huffman tables, no restart markers.
 */
#ifndef DSA_ENCODE_H
#define DSA_ENCODE_H

#include <stddef.h>
#include <stdint.h>

struct encoder;

/* One encoder serves one thread. NULL when memory is short. */
struct encoder *encoder_new(void);
void encoder_free(struct encoder *encoder);

/*
 * Encodes width x height x RGB. Returns the bytes, which are the encoder's and last
 * until its next call, and their number in *size; NULL when memory is short.
 */
const uint8_t *encoder_run(struct encoder *encoder, const uint8_t *rgb,
			   const unsigned sides[2], int quality, size_t *size);

#endif
