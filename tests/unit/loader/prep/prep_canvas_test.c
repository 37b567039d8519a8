/* A picture decoded once, and what is made of it: the same as of the JPEG itself. */
#include "loader/base/error.h"
#include "loader/prep.h"
#include "loader/prep/canvas.h"
#include "tests/lib/nomem.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"
#include "tests/lib/trials.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

/* One prepared sample; the caller frees it. */
static unsigned char *prepare(const struct prep_config *config, const void *bytes,
			      size_t size, uint64_t seed, struct error *err)
{
	struct prep *prep = prep_open(config, NULL);
	struct prep_worker *worker = prep_worker_new(prep);
	size_t room = prep_sample_bytes(prep);
	unsigned char *out = aligned_alloc(64, (room + 63) / 64 * 64);
	int result;

	assert_non_null(worker);
	memset(out, 0xa5, room);
	result = prep_run(worker, bytes, size, seed, out, err);
	assert_int_equal(result, -err->code);
	prep_worker_free(worker);
	prep_close(prep);
	return out;
}

static unsigned char *decode(const struct picture *picture, struct canvas *canvas)
{
	struct prep_config config = prep_defaults;
	struct error err = {0};
	unsigned char *jpeg, *out;
	size_t size;

	config.op = "decoded";
	jpeg = picture_jpeg(picture, &size);
	out = prepare(&config, jpeg, size, 0, &err);
	if (err.code != 0)
		fail_msg("%s", err.message);
	memcpy(canvas, out, sizeof(*canvas));
	free(jpeg);
	return out;
}

static size_t bytes_of(const struct prep_config *config)
{
	struct prep *prep = prep_open(config, NULL);
	size_t bytes = prep_sample_bytes(prep);

	prep_close(prep);
	return bytes;
}

/* `image` of the JPEG, and `canvas` of what `decoded` makes of it. */
static void compare(const struct picture *picture, struct prep_config config)
{
	struct canvas canvas;
	unsigned char *decoded = decode(picture, &canvas), *jpeg;
	size_t size;

	assert_int_equal(canvas.width, picture->width);
	assert_int_equal(canvas.height, picture->height);
	jpeg = picture_jpeg(picture, &size);
	for (uint64_t seed = 0; seed < TRIALS_OF(12); seed++) {
		struct error err = {0};
		unsigned char *a, *b;

		config.op = "image";
		a = prepare(&config, jpeg, size, seed, &err);
		config.op = "canvas";
		b = prepare(&config, decoded, CANVAS_BYTES, seed, &err);
		assert_int_equal(err.code, 0);
		assert_memory_equal(a, b, bytes_of(&config));
		free(a);
		free(b);
	}
	free(decoded);
	free(jpeg);
}

static struct prep_config config_of(unsigned i)
{
	static const unsigned sizes[] = {1, 19, 64, 224};
	struct prep_config config = prep_defaults;

	config.size = sizes[i % 4];
	config.resize = config.size * 8 / 7;
	config.type = (enum prep_type)(i % 3);
	config.layout = i % 5 < 3 ? PREP_NCHW : PREP_NHWC;
	config.evaluate = i % 7 == 6;
	return config;
}

TEST(both_ways_give_the_same_bits)
{
	static const struct picture pictures[] = {
		{.width = 500, .height = 375, .h = 2, .v = 2},
		{.width = 512, .height = 512, .h = 2, .v = 2},
		{.width = 333, .height = 499, .h = 2},
		{.width = 81, .height = 300, .h = 4},
		{.width = 200, .height = 203, .progressive = true, .h = 2, .v = 2},
		{.width = 64, .height = 50, .color = PICTURE_GRAY},
		{.width = 77, .height = 50, .color = PICTURE_RGB},
		{.width = 99, .height = 31, .color = PICTURE_CMYK},
		{.width = 31, .height = 99, .color = PICTURE_YCCK},
		{.width = 1, .height = 1},
		{.width = 2, .height = 40},
	};

	for (unsigned i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++)
		for (unsigned j = 0; j < 7; j++)
			compare(&pictures[i], config_of(i + j));
}

TEST(turned_pictures_give_the_same_bits)
{
	for (unsigned orientation = 1; orientation <= 8; orientation++) {
		const struct picture picture = {.width = 120,
						.height = 70,
						.h = 2,
						.v = 2,
						.orientation = orientation};

		compare(&picture, config_of(orientation));
		compare(&picture, config_of(6)); /* evaluation */
	}
}

TEST(what_is_behind_the_pixels_is_zero)
{
	const struct picture picture = {.width = 70, .height = 30};
	struct canvas canvas;
	unsigned char *decoded = decode(&picture, &canvas);

	for (size_t i = CANVAS_HEADER + 3 * 70 * 30; i < CANVAS_BYTES; i++)
		assert_int_equal(decoded[i], 0);
	free(decoded);
}

/* A picture, of which libjpeg may have decoded eighths; the caller frees rgb. */
struct pixels {
	unsigned width, height;
	unsigned char *rgb;
};

static struct pixels decode_eighths(const struct picture *picture, unsigned eighths)
{
	struct jpeg_decompress_struct lib;
	struct jpeg_error_mgr report;
	struct pixels pixels;
	size_t size;
	unsigned char *jpeg = picture_jpeg(picture, &size);

	lib.err = jpeg_std_error(&report);
	jpeg_create_decompress(&lib);
	jpeg_mem_src(&lib, jpeg, size);
	jpeg_read_header(&lib, TRUE);
	lib.scale_num = eighths;
	lib.scale_denom = 8;
	jpeg_start_decompress(&lib);
	pixels = (struct pixels){
		lib.output_width, lib.output_height,
		malloc((size_t)3 * lib.output_width * lib.output_height)};
	assert_non_null(pixels.rgb);
	while (lib.output_scanline < lib.output_height) {
		JSAMPROW row =
			pixels.rgb + (size_t)3 * lib.output_width * lib.output_scanline;

		jpeg_read_scanlines(&lib, &row, 1);
	}
	jpeg_destroy_decompress(&lib);
	free(jpeg);
	return pixels;
}

/* Mean of a channel over a rectangle, as far as the picture goes. */
static double mean(const struct pixels *pixels, const unsigned at[2], unsigned width,
		   unsigned height, unsigned channel)
{
	double sum = 0, area = 0;

	for (unsigned y = at[1]; y < at[1] + height && y < pixels->height; y++)
		for (unsigned x = at[0]; x < at[0] + width && x < pixels->width; x++) {
			sum += pixels->rgb[3 * ((size_t)y * pixels->width + x) +
					   channel];
			area++;
		}
	return sum / area;
}

static void compare_boxes(const struct pixels *got, const struct pixels *whole,
			  unsigned box)
{
	assert_int_equal(got->width, (whole->width + box - 1) / box);
	assert_int_equal(got->height, (whole->height + box - 1) / box);
	for (unsigned y = 0; y < got->height; y++)
		for (unsigned x = 0; x < got->width; x++)
			for (unsigned c = 0; c < 3; c++) {
				const unsigned at[] = {x * box, y * box},
					       own[] = {x, y};
				double want = mean(whole, at, box, box, c);

				assert_true(fabs(mean(got, own, 1, 1, c) - want) <= .5);
			}
}

TEST(a_larger_picture_is_reduced_to_fit)
{
	static const struct {
		unsigned width, height, eighths, box, becomes_width, becomes_height;
	} rows[] = {
		{513, 512, 7, 1, 449, 448},   {524, 500, 8, 1, 524, 500},
		{600, 600, 6, 1, 450, 450},   {1024, 768, 4, 1, 512, 384},
		{2000, 1500, 2, 1, 500, 375}, {3000, 200, 5, 1, 1875, 125},
		{4100, 4100, 1, 2, 257, 257}, {9001, 2100, 1, 2, 563, 132},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct picture picture = {.width = rows[i].width,
						.height = rows[i].height,
						.h = 2,
						.v = 2};
		struct canvas canvas;
		unsigned char *decoded = decode(&picture, &canvas);
		const struct pixels got = {canvas.width, canvas.height,
					   decoded + CANVAS_HEADER};
		struct pixels whole = decode_eighths(&picture, rows[i].eighths);

		assert_int_equal(canvas.width, rows[i].becomes_width);
		assert_int_equal(canvas.height, rows[i].becomes_height);
		compare_boxes(&got, &whole, rows[i].box);
		free(decoded);
		free(whole.rgb);
	}
}

/* The same part of the picture, though fewer pixels of it. */
TEST(a_sample_of_a_reduced_picture_is_much_the_same)
{
	const struct picture picture = {.width = 900, .height = 700, .h = 2, .v = 2};
	struct prep_config config = prep_defaults;
	struct canvas canvas;
	unsigned char *decoded = decode(&picture, &canvas), *jpeg;
	size_t size;

	config.size = 32; /* each pixel of it is one of many */
	config.type = PREP_U8;
	config.layout = PREP_NHWC;
	config.scale[0] = .5;
	jpeg = picture_jpeg(&picture, &size);
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct error err = {0};
		struct pixels a = {32, 32, NULL}, b = {32, 32, NULL};

		config.op = "image";
		a.rgb = prepare(&config, jpeg, size, seed, &err);
		config.op = "canvas";
		b.rgb = prepare(&config, decoded, CANVAS_BYTES, seed, &err);
		for (unsigned i = 0; i < 16 * 3; i++) {
			const unsigned at[] = {i / 3 % 4 * 8, i / 12 * 8};

			assert_true(fabs(mean(&a, at, 8, 8, i % 3) -
					 mean(&b, at, 8, 8, i % 3)) < 6);
		}
		free(a.rgb);
		free(b.rgb);
	}
	free(decoded);
	free(jpeg);
}

static void expect_refused(const void *bytes, size_t size, const char *why)
{
	struct prep_config config = prep_defaults;
	struct error err = {0};

	config.op = "canvas";
	config.size = 8;
	free(prepare(&config, bytes, size, 0, &err));
	assert_int_equal(err.code, EBADMSG);
	assert_string_equal(err.message, why);
}

TEST(what_is_no_canvas_is_refused)
{
	static unsigned char bytes[CANVAS_HEADER + 3 * 4 * 5];
	const struct canvas good = {CANVAS_MAGIC, 4, 5, 1, {0}};
	struct canvas canvas = good;

	expect_refused(bytes, 0, "no decoded picture: 0 bytes");
	expect_refused(bytes, CANVAS_HEADER - 1, "no decoded picture: 63 bytes");
	expect_refused(bytes, sizeof(bytes),
		       "no decoded picture: begins with 00000000");
	memcpy(bytes, &good, sizeof(good));
	expect_refused(bytes, sizeof(bytes) - 1,
		       "a decoded picture of 4x5 pixels in 123 bytes");
	canvas.width = 0;
	memcpy(bytes, &canvas, sizeof(canvas));
	expect_refused(bytes, sizeof(bytes),
		       "a decoded picture of 0x5 pixels in 124 bytes");
	canvas.width = canvas.height =
		UINT32_MAX; /* their product is small in 64 bits */
	memcpy(bytes, &canvas, sizeof(canvas));
	expect_refused(
		bytes, sizeof(bytes),
		"a decoded picture of 4294967295x4294967295 pixels in 124 bytes");
	canvas = good;
	canvas.orientation = 9;
	memcpy(bytes, &canvas, sizeof(canvas));
	expect_refused(bytes, sizeof(bytes), "no orientation of a picture: 9");
}

/* What `image` has no need to look at is damage here. */
TEST(a_damaged_jpeg_is_refused_as_a_whole)
{
	const struct picture picture = {.width = 90, .height = 70};
	struct prep_config config = prep_defaults;
	struct error err = {0};
	size_t size;
	unsigned char *jpeg = picture_jpeg(&picture, &size);

	config.op = "decoded";
	free(prepare(&config, jpeg, size / 2, 0, &err));
	assert_int_equal(err.code, EBADMSG);
	assert_non_null(strstr(err.message, "truncated JPEG"));
	err = (struct error){0};
	free(prepare(&config, "nothing", 7, 0, &err));
	assert_int_equal(err.code, EBADMSG);
	free(jpeg);
}

/* Fails the nth allocation that preparing takes; true when there was none left to fail. */
static bool try_without(const struct prep_config *config, const void *bytes,
			size_t size, unsigned nth)
{
	struct prep *prep = prep_open(config, NULL);
	unsigned char *out = aligned_alloc(64, CANVAS_BYTES);
	struct error err = {0};
	struct prep_worker *worker;
	int result = -ENOMEM;

	nomem_at(nth);
	worker = prep_worker_new(prep);
	if (worker != NULL)
		result = prep_run(worker, bytes, size, 1, out, &err);
	nomem_at(0);
	assert_true(result == 0 || result == -ENOMEM);
	assert_int_equal(err.code, worker != NULL ? -result : 0);
	if (worker != NULL) /* fit for the next one */
		assert_int_equal(prep_run(worker, bytes, size, 1, out, &err), 0);
	prep_worker_free(worker);
	prep_close(prep);
	free(out);
	return result == 0;
}

TEST(both_say_so_when_memory_runs_out)
{
	const struct picture picture = {.width = 90, .height = 70, .orientation = 6};
	struct prep_config config = prep_defaults;
	struct canvas canvas;
	unsigned char *decoded = decode(&picture, &canvas), *jpeg;
	unsigned failures[2] = {0};
	size_t size;

	jpeg = picture_jpeg(&picture, &size);
	config.op = "decoded";
	while (!try_without(&config, jpeg, size, failures[0] + 1))
		failures[0]++;
	config.op = "canvas";
	while (!try_without(&config, decoded, CANVAS_BYTES, failures[1] + 1))
		failures[1]++;
	assert_true(failures[0] >= 3 && failures[1] >= 8);
	free(decoded);
	free(jpeg);
}
