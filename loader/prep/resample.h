/*
 * resample.h - crop, antialiased bilinear resize, flip and normalise in one stream.
 *
 *	source rows, top to bottom -> horizontal pass -> ring of as many rows as
 *	the filter is high -> vertical pass, normalise -> rows of the sample
 *
 * The sample equals Pillow's crop().resize(BILINEAR) within one level of 255 (which
 * rounds between the passes; here floats are kept).
 */
#ifndef DSA_PREP_RESAMPLE_H
#define DSA_PREP_RESAMPLE_H

#include "loader/filter.h"
#include "loader/prep/kernel.h"

#include <stdint.h>

struct crop;
struct prep_config;
struct resampler;

/* NULL when memory is short. kernel: kernel_best(), or one to test. */
struct resampler *resampler_new(const struct prep_config *config,
				const struct kernel *kernel);
void resampler_free(struct resampler *resampler);

/*
 * Begins a sample. x and y become what has to be decoded (their members first and
 * length) and point into the resampler. Returns 0 or -ENOMEM.
 */
int resampler_begin(struct resampler *resampler, const struct crop *crop, void *out,
		    struct filter *x, struct filter *y);

/* Source rows that resampler_feed() takes at once. */
unsigned resampler_rows(const struct resampler *resampler);

/*
 * The next rows of the source: resampler_rows() pointers to x.length pixels R G B any,
 * readable up to a multiple of 4 pixels. Past y.length rows may be anything readable.
 */
void resampler_feed(struct resampler *resampler, const uint8_t *const *rows);

/* After the last row: completes the sample, for threads that learn of it later. */
void resampler_end(struct resampler *resampler);

#endif
