/* synthetic_jpeg.c - draws a picture from a seed and encodes it as a JPEG. */
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

static void synthetic_jpeg_fail(j_common_ptr jpeg)
{
	struct failure *failure = (struct failure *)jpeg->err;

	longjmp(failure->out, 1);
}

/* -1 .. 1, the same for the same corner of a lattice. */
static float synthetic_jpeg_corner(uint64_t seed, unsigned x, unsigned y)
{
	return (float)(random_seed(seed, x, y) >> 40) * 0x1p-23f - 1;
}

/*
 * Adds value noise to a row: smooth between the corners of a lattice of 2^level pixels,
 * which are joined down the lattice first and then along the row.
 */
static void synthetic_jpeg_add_noise(float *row, unsigned width, uint64_t seed,
				     unsigned level, unsigned y, float amplitude)
{
	float joined[WIDEST + 2];
	unsigned top = y >> level, mask = (1u << level) - 1;
	float scale = 1 / (float)(1u << level);
	float v = (float)(y & mask) * scale;

	for (unsigned i = 0; i < (width >> level) + 2; i++)
		joined[i] = amplitude *
			    (synthetic_jpeg_corner(seed, i, top) * (1 - v) +
			     (v > 0 ? synthetic_jpeg_corner(seed, i, top + 1) * v : 0));
	for (unsigned x = 0; x < width; x++) {
		float u = (float)(x & mask) * scale;

		row[x] += joined[x >> level] * (1 - u) + joined[(x >> level) + 1] * u;
	}
}

static JSAMPLE synthetic_jpeg_clamp(float value)
{
	return value < 0 ? 0 : value > 255 ? 255 : (JSAMPLE)value;
}

/*
 * Octaves whose amplitude falls with their frequency, as in photographs; that of the
 * finest, the grain, decides how many bytes the picture takes.
 */
static void draw_row(uint64_t seed, unsigned y, unsigned width, JSAMPLE *row)
{
	float light[WIDEST] = {0}, warmth[WIDEST] = {0};
	float amplitude = 41 + 22 * synthetic_jpeg_corner(seed, 0, 0);

	for (unsigned level = 0; level <= COARSEST; level += 2, amplitude *= 1.1f)
		synthetic_jpeg_add_noise(light, width, seed + level, level, y,
					 amplitude);
	synthetic_jpeg_add_noise(warmth, width, seed + COARSEST + 1, COARSEST, y, 40);
	for (unsigned x = 0; x < width; x++) {
		*row++ = synthetic_jpeg_clamp(128 + light[x] + warmth[x]);
		*row++ = synthetic_jpeg_clamp(128 + light[x]);
		*row++ = synthetic_jpeg_clamp(128 + light[x] - warmth[x]);
	}
}

static void synthetic_jpeg_encode(struct jpeg_compress_struct *jpeg, uint64_t seed,
				  JSAMPLE *row)
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
	failure.manager.error_exit = synthetic_jpeg_fail;
	if (setjmp(failure.out) != 0) {
		jpeg_destroy_compress(&jpeg);
		return -ENOMEM;
	}
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &data, &size);
	synthetic_jpeg_encode(&jpeg, random_mix(seed), row);
	jpeg_destroy_compress(&jpeg);
	*made = (struct synthetic_jpeg){data, size};
	return 0;
}
