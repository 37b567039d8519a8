/*
 * kernel.h - the inner loops of the resampler, once for each width of vector.
 *
 *	source rows R G B x     block: pixel by pixel        ring rows
 *	u8 u8 u8 u8 ...      -> floats of `rows` rows     -> floats, planes of size
 *	(rows of them)          side by side                 (or R G B interleaved)
 *
 * Every kernel does the same float operations in the same order, so all give the
 * same bits: sums go from the first tap to the last, and no multiplication is fused
 * with an addition.
 */
#ifndef DSA_PREP_KERNEL_H
#define DSA_PREP_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter;

enum {
	KERNEL_ROWS_MAX = 4,
	KERNEL_PIXEL = 4, /* floats of a pixel in a block */
};

/*
 * Where the horizontal pass writes: one row per row of the block, each `stride` floats
 * behind the one before. plane = 0 interleaves R G B, else they lie `plane` floats
 * apart. Up to 4 floats behind each row or plane are overwritten.
 */
struct kernel_rows {
	float *out;
	size_t stride, plane;
};

/* One run of columns of an output row: out = sum * factor + offset, column by column.
 */
struct kernel_sum {
	const float *const *rows; /* of the ring, `taps` of them */
	const float *weights;
	unsigned taps;
	const float *factor, *offset; /* by column, as rows are */
	size_t column, count;
	float *out;    /* of the first column */
	bool streamed; /* write past the caches; out is aligned to 64 */
};

struct kernel {
	const char *name;
	unsigned rows; /* that interleave and horizontal take at once */
	bool (*usable)(void);
	/* block: width * rows * KERNEL_PIXEL floats. */
	void (*interleave)(const uint8_t *const *rows, unsigned width, float *block);
	void (*horizontal)(const struct filter *filter, const float *block,
			   const struct kernel_rows *to);
	void (*vertical)(const struct kernel_sum *sum);
	/* Values 0 to 255 and a half, cut off; up to 16 floats behind are read. */
	void (*to_bytes)(const float *values, size_t count, uint8_t *out);
	/* IEEE 754 binary16, ties to even; up to 16 floats behind are read. */
	void (*to_halves)(const float *values, size_t count, uint16_t *out);
};

/* From the widest to the plainest, ended by NULL; the last is usable everywhere. */
extern const struct kernel *const kernels[];

/* Streamed stores of this thread come before its later stores, for other threads too.
 */
void kernel_fence(void);

/* The first usable one. */
const struct kernel *kernel_best(void);

#endif
