/* options_image.h - what becomes of a picture. Private to loader/options/. */
#ifndef DSA_OPTIONS_IMAGE_H
#define DSA_OPTIONS_IMAGE_H

struct options;
struct prep_config;

/* Sets the side, and that before the crop in the recipe's proportion: 256 for 224. */
void options_image_size(struct prep_config *image, unsigned size);

/* 16 is what files have whose names do not say: the same as 0. */
void options_image_token_bits(struct prep_config *image, unsigned bits);

/* Pictures on their way to a device are prepared as bytes, which are fewer, unless that is
 * what they are to be. Sets `delivered` and `converted`. */
void options_image_convert(struct options *options);

#endif
