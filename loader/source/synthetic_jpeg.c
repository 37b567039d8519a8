#include "loader/source/synthetic_jpeg.h"
#include "loader/base/random.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

enum { WIDEST = 500, QUALITY = 91, COARSEST = 6 };

struct failure {
	struct jpeg_error_mgr manager;
	jmp_buf out;
};

static const struct {
	unsigned width, height;
} shapes[] = {{500, 375}, {375, 500}, {500, 333}, {500, 375}, {500, 400}, {480, 360}};

static void fail(j_common_ptr jpeg)
{
	struct failure *failure = (struct failure *)jpeg->err;

	longjmp(failure->out, 1);
}

/* -1 .. 1, the same for the same corner of a lattice. */
static float corner(uint64_t seed, unsigned x, unsigned y)
{
	return (float)(random_seed(seed, x, y) >> 40) * 0x1p-23f - 1;
}

/* Value noise: smooth between the corners of a lattice of 2^level pixels. */
static float noise(uint64_t seed, unsigned level, unsigned x, unsigned y)
{
	unsigned left = x >> level, top = y >> level;
	float scale = 1 / (float)(1u << level);
	float u = (float)(x - (left << level)) * scale;
	float v = (float)(y - (top << level)) * scale;
	float above =
		corner(seed, left, top) * (1 - u) + corner(seed, left + 1, top) * u;
	float below = corner(seed, left, top + 1) * (1 - u) +
		      corner(seed, left + 1, top + 1) * u;

	return above * (1 - v) + below * v;
}

/*
 * Octaves whose amplitude falls with their frequency, as in photographs; `grain` is
 * that of the finest, which decides how many bytes the picture takes.
 */
static float brightness(uint64_t seed, float grain, unsigned x, unsigned y)
{
	float sum = 0, amplitude = grain;

	for (unsigned level = 0; level <= COARSEST; level += 2) {
		sum += amplitude * noise(seed + level, level, x, y);
		amplitude *= 1.6f;
	}
	return sum;
}

static JSAMPLE clamp(float value)
{
	return value < 0 ? 0 : value > 255 ? 255 : (JSAMPLE)value;
}

static void draw_row(uint64_t seed, unsigned y, unsigned width, JSAMPLE *row)
{
	float grain = 32 + 18 * corner(seed, 0, 0);

	for (unsigned x = 0; x < width; x++) {
		float light = 128 + brightness(seed, grain, x, y);
		float warmth = 40 * noise(seed + COARSEST + 1, COARSEST, x, y);

		*row++ = clamp(light + warmth);
		*row++ = clamp(light);
		*row++ = clamp(light - warmth);
	}
}

static void encode(struct jpeg_compress_struct *jpeg, uint64_t seed, JSAMPLE *row)
{
	unsigned shape = (unsigned)(seed % (sizeof(shapes) / sizeof(shapes[0])));

	jpeg->image_width = shapes[shape].width;
	jpeg->image_height = shapes[shape].height;
	jpeg->input_components = 3;
	jpeg->in_color_space = JCS_RGB;
	jpeg_set_defaults(jpeg); /* 4:2:0 */
	jpeg_set_quality(jpeg, QUALITY, TRUE);
	jpeg_start_compress(jpeg, TRUE);
	while (jpeg->next_scanline < jpeg->image_height) {
		draw_row(seed, jpeg->next_scanline, jpeg->image_width, row);
		jpeg_write_scanlines(jpeg, &row, 1);
	}
	jpeg_finish_compress(jpeg);
}

int synthetic_jpeg_make(uint64_t seed, struct synthetic_jpeg *made)
{
	struct jpeg_compress_struct jpeg = {0};
	struct failure failure;
	JSAMPLE row[3 * WIDEST];
	unsigned char *data = NULL;
	unsigned long size = 0;

	jpeg.err = jpeg_std_error(&failure.manager);
	failure.manager.error_exit = fail;
	if (setjmp(failure.out) != 0) {
		jpeg_destroy_compress(&jpeg);
		return -ENOMEM;
	}
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &data, &size);
	encode(&jpeg, random_mix(seed), row);
	jpeg_destroy_compress(&jpeg);
	*made = (struct synthetic_jpeg){data, size};
	return 0;
}
