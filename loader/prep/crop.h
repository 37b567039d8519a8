/* crop.h - which part of an image becomes a sample, and how it lies there. */
#ifndef DSA_PREP_CROP_H
#define DSA_PREP_CROP_H

#include "loader/filter.h"

#include <stdbool.h>
#include <stdint.h>

struct prep_config;

/* Both axes of the image as it is stored. */
struct crop {
	struct span x, y;
	bool transposed; /* x runs down in the sample, y to the right */
};

/*
 * The crop that config and seed ask for, of an image of width x height stored
 * pixels that is to be turned as exif_orientation() says. Training draws as
 * torchvision's RandomResizedCrop.get_params and RandomHorizontalFlip do, in the
 * upright frame; evaluation is its Resize(resize) and CenterCrop(size).
 */
struct crop crop_draw(const struct prep_config *config, unsigned width, unsigned height,
		      unsigned orientation, uint64_t seed);

#endif
