/* filter.h - the weights of an antialiased bilinear resize along one axis. */
#ifndef DSA_FILTER_H
#define DSA_FILTER_H

#include "loader/base/scratch.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One axis of a crop. The filter may read `length` pixels from `first` on, and
 * resamples them to `outputs`, of which `count` from `skip` on are delivered.
 *
 *	stored   |.....|=== length ===|....|
 *	             first
 *	resampled      |..|= count =|..|     outputs
 *	                 skip
 */
struct span {
	unsigned first, length;
	unsigned outputs, skip, count;
	bool mirrored; /* delivered last to first */
};

/*
 *	output i = sum over k < taps of weight[i * taps + k] * source[start[i] + k]
 *
 * `source` begins at pixel `first` of the stored image and is `length` long: what
 * has to be decoded, no more. start + taps never passes its end.
 */
struct filter {
	unsigned first, length;
	unsigned outputs, taps;
	const uint32_t *start;
	const float *weight;
};

/*
 * Pillow's BILINEAR (src/libImaging/Resample.c): a triangle as wide as the scale,
 * clipped at the span, its weights summing to 1. The tables live in scratch and
 * are in order of delivery; up to 3 copies of the last output follow, so that outputs
 * can be computed in fours. Returns 0 or -ENOMEM.
 */
int filter_init(struct filter *filter, const struct span *span,
		struct scratch *scratch);

#endif
