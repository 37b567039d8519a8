/* The region decoder against libjpeg-turbo's decode of the whole image. */
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/jpeg.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <jpeglib.h>

/* The whole image, four bytes a pixel, by the shortest way through libjpeg. */
static uint8_t *decode_whole(const unsigned char *bytes, size_t size,
			     J_COLOR_SPACE space)
{
	struct jpeg_decompress_struct lib;
	struct jpeg_error_mgr report;
	uint8_t *pixels;

	lib.err = jpeg_std_error(&report);
	jpeg_create_decompress(&lib);
	jpeg_mem_src(&lib, bytes, size);
	jpeg_read_header(&lib, TRUE);
	lib.out_color_space = space;
	lib.do_block_smoothing = FALSE;
	jpeg_start_decompress(&lib);
	pixels = malloc((size_t)4 * lib.output_width * lib.output_height);
	assert_non_null(pixels);
	while (lib.output_scanline < lib.output_height) {
		JSAMPROW row =
			pixels + (size_t)4 * lib.output_width * lib.output_scanline;

		jpeg_read_scanlines(&lib, &row, 1);
	}
	jpeg_finish_decompress(&lib);
	jpeg_destroy_decompress(&lib);
	return pixels;
}

/* Compares one region, fetched `at_once` rows a call. */
static void compare_region(struct jpeg *jpeg, const unsigned char *bytes, size_t size,
			   const struct jpeg_region *region, unsigned at_once)
{
	struct jpeg_info info;
	uint8_t *whole = decode_whole(bytes, size, JCS_EXT_RGBX);
	const uint8_t *row[8];

	assert_int_equal(jpeg_open(jpeg, bytes, size, &info, NULL), 0);
	assert_int_equal(jpeg_begin(jpeg, region, NULL), 0);
	for (unsigned y = 0; y < region->height; y += at_once) {
		unsigned left = region->height - y;
		unsigned count = left < at_once ? left : at_once;

		assert_int_equal(jpeg_rows(jpeg, count, row, NULL), 0);
		for (unsigned i = 0; i < count; i++) {
			const uint8_t *want =
				whole + 4 * ((size_t)(region->y + y + i) * info.width +
					     region->x);

			for (unsigned x = 0; x < region->width; x++)
				if (memcmp(row[i] + 4 * x, want + 4 * x, 3) != 0)
					fail_msg("pixel %u,%u of %ux%u+%u+%u differs",
						 x, y + i, region->width,
						 region->height, region->x, region->y);
		}
	}
	assert_int_equal(jpeg_end(jpeg, NULL), 0);
	free(whole);
}

static void compare_regions(const struct picture *picture)
{
	struct random random = {.state = picture->width * 1000u + picture->height};
	struct jpeg *jpeg = jpeg_new();
	size_t size;
	unsigned char *bytes = picture_jpeg(picture, &size);

	for (int i = 0; i < 60; i++) {
		struct jpeg_region region;

		region.width = 1 + random_below(&random, picture->width);
		region.height = 1 + random_below(&random, picture->height);
		region.x = random_below(&random, picture->width - region.width + 1);
		region.y = random_below(&random, picture->height - region.height + 1);
		compare_region(jpeg, bytes, size, &region,
			       1 + random_below(&random, 8));
	}
	free(bytes);
	jpeg_free(jpeg);
}

TEST(every_region_equals_the_whole_decode)
{
	static const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2},
					   {1, 2}, {4, 1}, {4, 2}};
	static const unsigned sizes[][2] = {
		{161, 117}, {64, 48}, {1, 1}, {7, 130}, {130, 3}};

	for (size_t s = 0; s < sizeof(samplings) / sizeof(samplings[0]); s++)
		for (size_t d = 0; d < sizeof(sizes) / sizeof(sizes[0]); d++)
			for (int progressive = 0; progressive < 2; progressive++)
				compare_regions(&(struct picture){
					.width = sizes[d][0],
					.height = sizes[d][1],
					.h = samplings[s][0],
					.v = samplings[s][1],
					.progressive = progressive,
				});
}

TEST(gray_rgb_and_restarts_equal_the_whole_decode)
{
	compare_regions(&(struct picture){99, 77, .color = PICTURE_GRAY});
	compare_regions(&(struct picture){99, 77, .color = PICTURE_RGB});
	compare_regions(&(struct picture){99, 77, .h = 2, .v = 2, .restart = 1});
}

TEST(odd_samplings_equal_the_whole_decode)
{
	static const int factors[][4] = {{1, 1, 2, 2}, {1, 1, 2, 1}, {1, 1, 1, 2},
					 {2, 1, 1, 2}, {1, 2, 2, 1}, {1, 1, 4, 1},
					 {2, 2, 1, 2}, {2, 2, 2, 1}, {4, 1, 2, 1}};

	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
		for (int progressive = 0; progressive < 2; progressive++)
			compare_regions(&(struct picture){
				.width = 131,
				.height = 99,
				.h = factors[i][0],
				.v = factors[i][1],
				.chroma_h = factors[i][2],
				.chroma_v = factors[i][3],
				.progressive = progressive,
			});
}

TEST(coefficients_left_out_equal_the_whole_decode)
{
	compare_regions(&(struct picture){99, 77, .h = 2, .v = 2, .scans = 1});
	compare_regions(&(struct picture){99, 77, .scans = 6});
}

static uint8_t *decode_all(const unsigned char *bytes, size_t size, unsigned width,
			   unsigned height)
{
	struct jpeg *jpeg = jpeg_new();
	struct jpeg_info info;
	uint8_t *pixels = malloc((size_t)4 * width * height);
	const uint8_t *row;

	assert_non_null(pixels);
	assert_int_equal(jpeg_open(jpeg, bytes, size, &info, NULL), 0);
	assert_int_equal(info.width, width);
	assert_int_equal(info.height, height);
	assert_int_equal(
		jpeg_begin(jpeg, &(struct jpeg_region){0, 0, width, height}, NULL), 0);
	for (unsigned y = 0; y < height; y++) {
		assert_int_equal(jpeg_rows(jpeg, 1, &row, NULL), 0);
		memcpy(pixels + (size_t)4 * width * y, row, (size_t)4 * width);
	}
	assert_int_equal(jpeg_end(jpeg, NULL), 0);
	jpeg_free(jpeg);
	return pixels;
}

/* Light that passes the inks, each 0 to 255 of absence; within rounding. */
static void compare_inks(const struct picture *picture)
{
	unsigned invert = picture->no_adobe ? 255 : 0;
	size_t size, count = (size_t)picture->width * picture->height;
	unsigned char *bytes = picture_jpeg(picture, &size);
	uint8_t *inks = decode_whole(bytes, size, JCS_CMYK);
	uint8_t *pixels = decode_all(bytes, size, picture->width, picture->height);

	for (size_t i = 0; i < 4 * count; i++) {
		double absent = inks[i] ^ invert, black = inks[i / 4 * 4 + 3] ^ invert;

		if (i % 4 == 3)
			continue;
		if (fabs(pixels[i] - absent * black / 255) > 1)
			fail_msg("value %zu: %u of %g %g", i, pixels[i], absent, black);
	}
	free(inks);
	free(pixels);
	free(bytes);
}

TEST(inks_become_light)
{
	compare_inks(&(struct picture){60, 40, .color = PICTURE_CMYK});
	compare_inks(
		&(struct picture){60, 40, .color = PICTURE_CMYK, .no_adobe = true});
	compare_inks(&(struct picture){60, 40, .color = PICTURE_YCCK});
	compare_inks(&(struct picture){60, 40, .color = PICTURE_YCCK, .h = 2, .v = 2});
}

/* Decodes a region of whatever bytes are; 0, or the first error. */
static int try_region(const unsigned char *bytes, size_t size,
		      const struct jpeg_region *region, struct error *err)
{
	struct jpeg *jpeg = jpeg_new();
	struct jpeg_info info;
	const uint8_t *row;
	int result = jpeg_open(jpeg, bytes, size, &info, err);

	if (result == 0)
		result = jpeg_begin(jpeg, region, err);
	for (unsigned y = 0; y < region->height && result == 0; y++)
		result = jpeg_rows(jpeg, 1, &row, err);
	if (result == 0)
		result = jpeg_end(jpeg, err);
	jpeg_free(jpeg);
	return result;
}

static const struct picture small = {.width = 90, .height = 70, .h = 2, .v = 2};
static const struct jpeg_region middle = {30, 20, 20, 10};

TEST(a_truncated_image_is_refused_whatever_the_region)
{
	size_t size;
	unsigned char *bytes = picture_jpeg(&small, &size);
	struct error err = {0};

	assert_int_equal(try_region(bytes, size, &middle, &err), 0);
	assert_int_equal(try_region(bytes, size * 9 / 10, &middle, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "truncated JPEG: ends after"));
	free(bytes);
}

TEST(only_the_end_marker_may_be_missing)
{
	struct picture picture = small;
	size_t size;
	unsigned char *bytes = picture_jpeg(&picture, &size);

	assert_int_equal(try_region(bytes, size - 2, &middle, NULL), 0);
	free(bytes);
	picture.progressive = true;
	bytes = picture_jpeg(&picture, &size);
	assert_int_equal(try_region(bytes, size, &middle, NULL), 0);
	/* Nothing tells whether another scan was to follow. */
	assert_int_equal(try_region(bytes, size - 2, &middle, NULL), -EBADMSG);
	free(bytes);
}

TEST(bytes_behind_the_end_do_no_harm)
{
	size_t size;
	unsigned char *bytes = picture_jpeg(&small, &size);
	unsigned char *more = calloc(1, size + 100);

	memcpy(more, bytes, size);
	assert_int_equal(try_region(more, size + 100, &middle, NULL), 0);
	free(more);
	free(bytes);
}

TEST(damage_before_the_region_is_found)
{
	size_t size;
	unsigned char *bytes = picture_jpeg(&small, &size);
	size_t scan = picture_marker(bytes, size, 0xda);
	struct error err = {0};

	bytes[scan + 40] = 0xff;
	bytes[scan + 41] = 0xd9;
	assert_int_equal(try_region(bytes, size, &middle, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "corrupt JPEG: "));
	free(bytes);
}

/* Puts two bytes that no one asked for in front of the nth marker of a kind. */
static int with_stray_bytes(const struct picture *picture, int marker, int nth)
{
	size_t size, at = 0;
	unsigned char *bytes = picture_jpeg(picture, &size);
	unsigned char *more = malloc(size + 2);
	int result;

	for (int i = 0; i < nth; i++)
		at += picture_marker(bytes + at, size - at, marker);
	memcpy(more, bytes, at - 1);
	memset(more + at - 1, 7, 2);
	memcpy(more + at + 1, bytes + at - 1, size - at + 1);
	result = try_region(more, size + 2, &middle, NULL);
	free(more);
	free(bytes);
	return result;
}

TEST(stray_bytes_are_damage_only_among_the_data)
{
	struct picture progressive = small;

	progressive.progressive = true;
	assert_int_equal(with_stray_bytes(&small, 0xdb, 1), 0);
	assert_int_equal(with_stray_bytes(&small, 0xd9, 1), 0);
	assert_int_equal(with_stray_bytes(&progressive, 0xd9, 1), 0);
	assert_int_equal(with_stray_bytes(&progressive, 0xda, 1), 0);
	assert_int_equal(with_stray_bytes(&progressive, 0xda, 3), -EBADMSG);
}

TEST(spectral_limits_of_a_sequential_scan_do_not_matter)
{
	size_t size;
	unsigned char *bytes = picture_jpeg(&small, &size);

	bytes[picture_marker(bytes, size, 0xda) + 11] = 0;
	assert_int_equal(try_region(bytes, size, &middle, NULL), 0);
	free(bytes);
}

TEST(what_is_no_jpeg_is_refused)
{
	struct error err = {0};

	assert_int_equal(try_region((const unsigned char *)"GIF89a", 6, &middle, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.message, "cannot be decoded: Not a JPEG file"));
	assert_int_equal(try_region((const unsigned char *)"", 0, &middle, &err),
			 -EBADMSG);
	assert_string_equal(err.message, "truncated JPEG: ends after 0 bytes");
}

TEST(tables_of_the_image_before_are_not_used)
{
	struct jpeg *jpeg = jpeg_new();
	struct jpeg_info info;
	size_t size;
	unsigned char *bytes = picture_jpeg(&small, &size);

	assert_int_equal(jpeg_open(jpeg, bytes, size, &info, NULL), 0);
	for (size_t i = 0; i + 1 < size; i++) /* its tables become comments */
		if (bytes[i] == 0xff && bytes[i + 1] == 0xdb)
			bytes[i + 1] = 0xfe;
	assert_int_equal(jpeg_open(jpeg, bytes, size, &info, NULL), 0);
	assert_int_equal(jpeg_begin(jpeg, &middle, NULL), -EBADMSG);
	free(bytes);
	jpeg_free(jpeg);
}

static void set_dimensions(unsigned char *bytes, size_t size, int frame,
			   unsigned dimension)
{
	size_t at = picture_marker(bytes, size, frame) + 4;

	for (int i = 0; i < 4; i += 2) {
		bytes[at + i] = (unsigned char)(dimension >> 8);
		bytes[at + i + 1] = (unsigned char)dimension;
	}
}

TEST(dimensions_that_the_bytes_cannot_fill_are_refused)
{
	size_t size;
	unsigned char *bytes = picture_jpeg(&small, &size);
	struct error err = {0};

	set_dimensions(bytes, size, 0xc0, 8000);
	assert_int_equal(try_region(bytes, size, &middle, &err), -EFBIG);
	assert_non_null(strstr(err.message, "unreasonable JPEG: 8000x8000 pixels in "));
	free(bytes);
}

static long peak_kilobytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

TEST(a_bomb_is_refused_before_it_takes_memory)
{
	struct picture picture = small;
	long before = peak_kilobytes();

	for (int progressive = 0; progressive < 2; progressive++) {
		struct error err = {0};
		unsigned char *bytes;
		size_t size;

		picture.progressive = progressive;
		bytes = picture_jpeg(&picture, &size);
		set_dimensions(bytes, size, progressive ? 0xc2 : 0xc0, 65500);
		assert_int_equal(try_region(bytes, size, &middle, &err), -EFBIG);
		assert_string_equal(err.message,
				    "unreasonable JPEG: 65500x65500 pixels, "
				    "more than 178956970");
		free(bytes);
	}
	assert_true(peak_kilobytes() - before < 64 * 1024);
}

TEST(too_many_scans_are_refused)
{
	struct picture picture = small;
	struct error err = {0};
	unsigned char *bytes;
	size_t size;

	picture.scans = PICTURE_SCANS;
	bytes = picture_jpeg(&picture, &size);
	assert_int_equal(try_region(bytes, size, &middle, &err), -EFBIG);
	assert_string_equal(err.message, "unreasonable JPEG: more than 100 scans");
	free(bytes);
}

TEST(a_header_that_is_cut_anywhere_wants_more)
{
	const struct picture picture = {
		.width = 33, .height = 22, .h = 2, .v = 2, .restart = 1};
	struct jpeg *jpeg = jpeg_new();
	struct jpeg_info info;
	unsigned char *bytes;
	size_t size, cut = 0;

	bytes = picture_jpeg(&picture, &size);
	for (; jpeg_open(jpeg, bytes, cut, &info, NULL) == -EBADMSG; cut++)
		assert_true(jpeg_ended(jpeg));
	assert_in_range(cut, 300, 1000);
	assert_int_equal(info.width, 33);
	assert_int_equal(info.height, 22);
	assert_int_equal(info.components, 3);
	assert_int_equal(info.sampling, JPEG_420);
	assert_true(info.restarts && !info.progressive);
	free(bytes);
	jpeg_free(jpeg);
}
