/* resample.c - streams source rows through the two passes of the filter. */
#include "loader/prep/resample.h"
#include "loader/base/scratch.h"
#include "loader/prep/crop.h"
#include "loader/prep/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OVERHANG = 16 }; /* floats that kernels may write or read behind a row */

enum { X_TABLE, Y_TABLE, BLOCK, RING, WINDOW, SQUARE, SCRATCHES };

struct resampler {
	const struct kernel *kernel;
	const struct prep_config *config;
	size_t plane, stride; /* floats from plane to plane, row to row of the ring */
	float *factor, *offset, *line; /* one row each: normalisation, result */
	const float **window;          /* the ring's rows that one output row sums */

	struct scratch scratch[SCRATCHES];
	struct filter x, y;
	bool mirrored, transposed, streamed;
	unsigned ring_rows; /* a power of two, so that a row's place is a mask away */
	float *block, *ring;
	unsigned char *square; /* where rows go: out, or scratch to be transposed */
	unsigned char *out;
	unsigned fed, done; /* source rows taken, output rows written */
};

/* out = (value / 255 - mean) / std as one multiplication and one addition. */
static void set_normalisation(struct resampler *r, size_t column, int c)
{
	const struct prep_config *config = r->config;

	if (config->type == PREP_U8) {
		r->factor[column] = 1;
		r->offset[column] = .5f;
	} else {
		r->factor[column] = 1 / (255 * config->std[c]);
		r->offset[column] = -config->mean[c] / config->std[c];
	}
}

struct resampler *resampler_new(const struct prep_config *config,
				const struct kernel *kernel)
{
	struct resampler *r = calloc(1, sizeof(*r));
	size_t size = config->size;

	if (r == NULL)
		return NULL;
	r->kernel = kernel;
	r->config = config;
	r->plane = config->layout == PREP_NCHW ? (size + 15) / 16 * 16 : 0;
	r->stride = (3 * (r->plane > 0 ? r->plane : size) + OVERHANG + 15) / 16 * 16;
	r->factor = calloc(3 * r->stride, sizeof(*r->factor));
	if (r->factor == NULL) {
		free(r);
		return NULL;
	}
	r->offset = r->factor + r->stride;
	r->line = r->offset + r->stride;
	for (size_t i = 0; i < size; i++)
		for (int c = 0; c < 3; c++)
			set_normalisation(
				r, r->plane > 0 ? c * r->plane + i : 3 * i + c, c);
	return r;
}

void resampler_free(struct resampler *r)
{
	if (r == NULL)
		return;
	for (int i = 0; i < SCRATCHES; i++)
		scratch_fini(&r->scratch[i]);
	free(r->factor);
	free(r);
}

unsigned resampler_rows(const struct resampler *r)
{
	return r->kernel->rows;
}

static unsigned power_of_two(unsigned least)
{
	unsigned power = 1;

	while (power < least)
		power *= 2;
	return power;
}

static int resample_take_memory(struct resampler *r)
{
	size_t columns = ((size_t)r->x.length + 3) / 4 * 4;

	r->ring_rows = power_of_two(r->y.taps + r->kernel->rows);
	r->block =
		scratch_get(&r->scratch[BLOCK],
			    columns * r->kernel->rows * KERNEL_PIXEL * sizeof(float));
	r->ring = scratch_get(&r->scratch[RING],
			      r->ring_rows * r->stride * sizeof(float));
	r->window = scratch_get(&r->scratch[WINDOW], r->y.taps * sizeof(*r->window));
	if (r->transposed)
		r->square =
			scratch_get(&r->scratch[SQUARE], prep_picture_bytes(r->config));
	if (r->block == NULL || r->ring == NULL || r->window == NULL)
		return -ENOMEM;
	return r->square == NULL ? -ENOMEM : 0;
}

int resampler_begin(struct resampler *r, const struct crop *crop, void *out,
		    struct filter *x, struct filter *y)
{
	struct span down = crop->y;
	const size_t row_bytes = r->config->size * sizeof(float);

	/* Rows come from top to bottom, so a mirrored image is written upwards. */
	down.mirrored = false;
	if (filter_init(&r->x, &crop->x, &r->scratch[X_TABLE]) < 0 ||
	    filter_init(&r->y, &down, &r->scratch[Y_TABLE]) < 0)
		return -ENOMEM;
	r->mirrored = crop->y.mirrored;
	r->transposed = crop->transposed;
	r->square = r->out = out;
	r->fed = r->done = 0;
	r->streamed = r->config->type == PREP_F32 && !r->transposed &&
		      (uintptr_t)out % 64 == 0 && row_bytes % 64 == 0;
	*x = r->x;
	*y = r->y;
	return resample_take_memory(r);
}

/* Columns `column` on of the ring's rows become values `at` on of the sample. */
static void write_columns(const struct resampler *r, struct kernel_sum *sum, size_t at)
{
	const enum prep_type type = r->config->type;
	unsigned char *out = r->square + at * prep_type_bytes[type];

	sum->out = type == PREP_F32 ? (float *)(void *)out : r->line;
	r->kernel->vertical(sum);
	if (type == PREP_U8)
		r->kernel->to_bytes(r->line, sum->count, out);
	else if (type == PREP_F16)
		r->kernel->to_halves(r->line, sum->count, (uint16_t *)(void *)out);
}

static void resample_write_row(struct resampler *r, unsigned y)
{
	const size_t size = r->config->size;
	const size_t row = r->mirrored ? size - 1 - y : y;
	struct kernel_sum sum = {
		.rows = r->window,
		.weights = r->y.weight + (size_t)y * r->y.taps,
		.taps = r->y.taps,
		.factor = r->factor,
		.offset = r->offset,
		.count = r->plane > 0 ? size : 3 * size,
		.streamed = r->streamed,
	};

	for (unsigned k = 0; k < sum.taps; k++) {
		unsigned place = (r->y.start[y] + k) & (r->ring_rows - 1);

		r->window[k] = r->ring + place * r->stride;
	}
	if (r->plane == 0) {
		write_columns(r, &sum, 3 * row * size);
		return;
	}
	for (size_t c = 0; c < 3; c++) {
		sum.column = c * r->plane;
		write_columns(r, &sum, (c * size + row) * size);
	}
}

void resampler_feed(struct resampler *r, const uint8_t *const *rows)
{
	const struct kernel *kernel = r->kernel;
	const struct kernel_rows to = {
		.out = r->ring + (r->fed & (r->ring_rows - 1)) * r->stride,
		.stride = r->stride,
		.plane = r->plane,
	};

	kernel->interleave(rows, r->x.length, r->block);
	kernel->horizontal(&r->x, r->block, &to);
	r->fed += kernel->rows;
	while (r->done < r->y.outputs && r->y.start[r->done] + r->y.taps <= r->fed)
		resample_write_row(r, r->done++);
}

/* out[x][y] = square[y][x], for elements of `bytes`. */
static void resample_transpose(const unsigned char *square, size_t size, size_t bytes,
			       unsigned char *out)
{
	for (size_t y = 0; y < size; y++)
		for (size_t x = 0; x < size; x++, square += bytes)
			memcpy(out + (x * size + y) * bytes, square, bytes);
}

void resampler_end(struct resampler *r)
{
	const size_t size = r->config->size, bytes = prep_type_bytes[r->config->type];
	const size_t plane_bytes = size * size * bytes;

	if (r->transposed && r->config->layout == PREP_NHWC)
		resample_transpose(r->square, size, 3 * bytes, r->out);
	else if (r->transposed)
		for (size_t c = 0; c < 3; c++)
			resample_transpose(r->square + c * plane_bytes, size, bytes,
					   r->out + c * plane_bytes);
	if (r->streamed)
		kernel_fence();
}
