/*
 * The whole of prep_run() against a plain one in double precision: decode all, turn
 * upright, cut the crop out, resize by the triangle filter's definition.
 */
#include "loader/base/random.h"
#include "loader/jpeg/exif.h"
#include "loader/prep.h"
#include "loader/prep/crop.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

struct pixels {
	unsigned width, height;
	uint8_t *rgb;
};

static struct pixels pixels_new(unsigned width, unsigned height)
{
	struct pixels pixels = {width, height, malloc((size_t)3 * width * height)};

	assert_non_null(pixels.rgb);
	return pixels;
}

static const uint8_t *pixel(const struct pixels *pixels, unsigned x, unsigned y)
{
	return pixels->rgb + 3 * ((size_t)y * pixels->width + x);
}

static struct pixels decode(const unsigned char *bytes, size_t size)
{
	struct jpeg_decompress_struct lib;
	struct jpeg_error_mgr report;
	struct pixels pixels;

	lib.err = jpeg_std_error(&report);
	jpeg_create_decompress(&lib);
	jpeg_mem_src(&lib, bytes, size);
	jpeg_read_header(&lib, TRUE);
	lib.out_color_space = JCS_RGB;
	jpeg_start_decompress(&lib);
	pixels = pixels_new(lib.output_width, lib.output_height);
	while (lib.output_scanline < lib.output_height) {
		JSAMPROW row =
			pixels.rgb + (size_t)3 * pixels.width * lib.output_scanline;

		jpeg_read_scanlines(&lib, &row, 1);
	}
	jpeg_destroy_decompress(&lib);
	return pixels;
}

/*
 * Where the stored pixel that is to be seen at x, y of the upright picture lies, from
 * the words of the Exif standard: which side the stored row 0 and column 0 are.
 */
static const uint8_t *seen_at(const struct pixels *stored, unsigned orientation,
			      unsigned x, unsigned y)
{
	unsigned right = stored->width - 1, bottom = stored->height - 1;

	switch (orientation) {
	case 2: /* top, right */
		return pixel(stored, right - x, y);
	case 3: /* bottom, right */
		return pixel(stored, right - x, bottom - y);
	case 4: /* bottom, left */
		return pixel(stored, x, bottom - y);
	case 5: /* left, top */
		return pixel(stored, y, x);
	case 6: /* right, top */
		return pixel(stored, y, bottom - x);
	case 7: /* right, bottom */
		return pixel(stored, right - y, bottom - x);
	case 8: /* left, bottom */
		return pixel(stored, right - y, x);
	default:
		return pixel(stored, x, y);
	}
}

static struct pixels upright(const struct pixels *stored, unsigned orientation)
{
	bool lies = orientation >= 5;
	struct pixels turned = pixels_new(lies ? stored->height : stored->width,
					  lies ? stored->width : stored->height);

	for (unsigned y = 0; y < turned.height; y++)
		for (unsigned x = 0; x < turned.width; x++)
			memcpy(turned.rgb + 3 * ((size_t)y * turned.width + x),
			       seen_at(stored, orientation, x, y), 3);
	return turned;
}

/* Weight of source pixel p in resampled pixel i, not normalised. */
static double weight(const struct span *span, unsigned i, unsigned p)
{
	double scale = (double)span->length / span->outputs;
	double reach = scale < 1 ? 1 : scale;
	double away = fabs(p + .5 - (i + .5) * scale) / reach;

	return away < 1 ? 1 - away : 0;
}

static unsigned resampled(const struct span *span, unsigned i)
{
	return span->skip + (span->mirrored ? span->count - 1 - i : i);
}

static double value_at(const struct pixels *pixels, const struct crop *crop,
		       const unsigned at[3])
{
	unsigned i = resampled(&crop->x, at[0]), j = resampled(&crop->y, at[1]);
	double sum = 0, weights = 0;

	for (unsigned y = 0; y < crop->y.length; y++) {
		double down = weight(&crop->y, j, y);

		for (unsigned x = 0; x < crop->x.length && down > 0; x++) {
			double w = down * weight(&crop->x, i, x);

			weights += w;
			if (w > 0)
				sum += w * pixel(pixels, crop->x.first + x,
						 crop->y.first + y)[at[2]];
		}
	}
	return sum / weights;
}

static void *prepare(const struct prep_config *config, const unsigned char *bytes,
		     size_t size, uint64_t seed)
{
	struct prep *prep = prep_open(config, NULL);
	struct prep_worker *worker = prep_worker_new(prep);
	void *out = malloc(prep_sample_bytes(prep));

	assert_non_null(out);
	assert_int_equal(prep_run(worker, bytes, size, seed, out, NULL), 0);
	prep_worker_free(worker);
	prep_close(prep);
	return out;
}

static void compare(const struct prep_config *config, const struct picture *picture,
		    uint64_t seed)
{
	size_t size, values = (size_t)config->size * config->size;
	unsigned char *bytes = picture_jpeg(picture, &size);
	struct pixels stored = decode(bytes, size);
	struct pixels image = upright(&stored, picture->orientation);
	struct crop crop = crop_draw(config, image.width, image.height, 1, seed);
	float *out = prepare(config, bytes, size, seed);

	for (unsigned c = 0; c < 3; c++)
		for (unsigned y = 0; y < config->size; y++)
			for (unsigned x = 0; x < config->size; x++) {
				unsigned at[3] = {x, y, c};
				double want = value_at(&image, &crop, at);
				double got = out[c * values + y * config->size + x];

				got = (got * config->std[c] + config->mean[c]) * 255;
				if (!(fabs(got - want) < .01))
					fail_msg("%ux%u turned %u: %u,%u,%u is %g, not "
						 "%g",
						 picture->width, picture->height,
						 picture->orientation, x, y, c, got,
						 want);
			}
	free(out);
	free(stored.rgb);
	free(image.rgb);
	free(bytes);
}

static struct prep_config small_config(bool evaluate)
{
	struct prep_config config = prep_defaults;

	config.size = 24;
	config.resize = 32;
	config.evaluate = evaluate;
	return config;
}

TEST(training_crops_of_every_orientation)
{
	struct prep_config config = small_config(false);

	for (unsigned orientation = 0; orientation <= 8; orientation++)
		for (uint64_t seed = 0; seed < 8; seed++)
			compare(&config,
				&(struct picture){.width = 77,
						  .height = 50,
						  .h = 2,
						  .v = 2,
						  .orientation = orientation},
				seed);
}

TEST(evaluation_crops_of_every_orientation)
{
	struct prep_config config = small_config(true);

	for (unsigned orientation = 0; orientation <= 8; orientation++) {
		compare(&config, &(struct picture){77, 50, .orientation = orientation},
			0);
		compare(&config, &(struct picture){20, 61, .orientation = orientation},
			0);
	}
}

TEST(images_of_any_size)
{
	static const unsigned sizes[][2] = {{1, 1},   {1, 9},   {9, 1},    {2, 300},
					    {300, 2}, {17, 17}, {640, 480}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int evaluate = 0; evaluate < 2; evaluate++) {
			struct prep_config config = small_config(evaluate);

			compare(&config,
				&(struct picture){.width = sizes[i][0],
						  .height = sizes[i][1],
						  .h = 2,
						  .v = 2},
				i);
		}
}

TEST(kinds_of_jpeg)
{
	struct prep_config config = small_config(false);

	compare(&config, &(struct picture){70, 51, .color = PICTURE_GRAY}, 1);
	compare(&config, &(struct picture){70, 51, .color = PICTURE_RGB}, 2);
	compare(&config, &(struct picture){70, 51, .progressive = true}, 3);
	compare(&config, &(struct picture){71, 51, .h = 2, .v = 1}, 4);
	compare(&config, &(struct picture){71, 51, .h = 2, .v = 2, .restart = 1}, 5);
	compare(&config, &(struct picture){71, 51, .h = 2, .v = 2, .progressive = true},
		6);
}

/* The box that a seed draws, of an image 400 x 300. */
static void check_box(uint64_t seed, double *area, double *middle)
{
	struct crop crop = crop_draw(&prep_defaults, 400, 300, 1, seed);
	double w = crop.x.length, h = crop.y.length;

	assert_true(crop.x.first + crop.x.length <= 400);
	assert_true(crop.y.first + crop.y.length <= 300);
	/* Sides are rounded to pixels, by half a pixel at the most. */
	assert_true((w + .5) / (h - .5) >= 3. / 4 && (w - .5) / (h + .5) <= 4. / 3);
	assert_true((w + .5) * (h + .5) >= .08 * 400 * 300);
	*area += w * h / (400. * 300);
	*middle += (crop.x.first + w / 2) / 400;
}

TEST(drawn_boxes_follow_scale_and_ratio)
{
	enum { DRAWS = 20000 };
	double area = 0, middle = 0, flips = 0;

	for (uint64_t seed = 0; seed < DRAWS; seed++) {
		check_box(seed, &area, &middle);
		flips += crop_draw(&prep_defaults, 400, 300, 1, seed).x.mirrored;
	}
	/* The mean of torchvision's get_params over 200,000 draws is .4337. */
	assert_true(fabs(area / DRAWS - .4337) < .01);
	assert_true(fabs(middle / DRAWS - .5) < .01);
	assert_true(fabs(flips / DRAWS - .5) < .02);
}

TEST(a_strip_is_cut_in_the_middle)
{
	struct crop wide = crop_draw(&prep_defaults, 3000, 3, 1, 1);
	struct crop high = crop_draw(&prep_defaults, 3, 3000, 1, 1);

	assert_int_equal(wide.x.length, 4);
	assert_int_equal(wide.x.first, 1498);
	assert_int_equal(wide.y.length, 3);
	assert_int_equal(high.x.length, 3);
	assert_int_equal(high.y.length, 4);
	assert_int_equal(high.y.first, 1498);
}

TEST(an_exif_that_makes_no_sense_does_not_turn)
{
	size_t size;
	unsigned char *bytes =
		picture_jpeg(&(struct picture){8, 8, .orientation = 6}, &size);
	size_t exif = picture_marker(bytes, size, 0xe1) + 3;

	assert_int_equal(exif_orientation(bytes, size), 6);
	bytes[exif + 19] = 4; /* the value as four bytes, big-endian */
	assert_int_equal(exif_orientation(bytes, size), 1);
	bytes[exif + 27] = 6;
	bytes[exif + 25] = 0;
	assert_int_equal(exif_orientation(bytes, size), 6);
	bytes[exif + 19] = 3;
	bytes[exif + 25] = 6;
	bytes[exif - 1] = 18; /* the segment ends before the directory's entry */
	assert_int_equal(exif_orientation(bytes, size), 1);
	bytes[exif - 1] = 34;
	bytes[exif + 25] = 9;
	assert_int_equal(exif_orientation(bytes, size), 1);
	bytes[exif + 25] = 6;
	bytes[exif + 10] = 0xff; /* the directory lies outside */
	assert_int_equal(exif_orientation(bytes, size), 1);
	for (size_t cut = 0; cut < exif + 26; cut++)
		assert_int_equal(exif_orientation(bytes, cut), 1);
	free(bytes);
}
