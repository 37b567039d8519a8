/* The region decoder against libjpeg-turbo's decode of the whole image. */
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/prep/jpeg.h"
#include "tests/lib/nomem.h"
#include "tests/lib/picture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jpeglib.h>

/* The whole image as R G B x, by the shortest way through libjpeg. */
static uint8_t *decode_whole(const unsigned char *bytes, size_t size, unsigned *width)
{
	struct jpeg_decompress_struct lib;
	struct jpeg_error_mgr report;
	uint8_t *pixels;

	lib.err = jpeg_std_error(&report);
	jpeg_create_decompress(&lib);
	jpeg_mem_src(&lib, bytes, size);
	jpeg_read_header(&lib, TRUE);
	lib.out_color_space = JCS_EXT_RGBX;
	jpeg_start_decompress(&lib);
	*width = lib.output_width;
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
	unsigned width;
	uint8_t *whole = decode_whole(bytes, size, &width);
	const uint8_t *row[8];

	assert_int_equal(jpeg_open(jpeg, bytes, size, &info, NULL), 0);
	assert_int_equal(info.width, width);
	assert_int_equal(jpeg_begin(jpeg, region, NULL), 0);
	for (unsigned y = 0; y < region->height; y += at_once) {
		unsigned left = region->height - y;
		unsigned count = left < at_once ? left : at_once;

		assert_int_equal(jpeg_rows(jpeg, count, row, NULL), 0);
		for (unsigned i = 0; i < count; i++) {
			const uint8_t *want =
				whole +
				4 * ((size_t)(region->y + y + i) * width + region->x);

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

static void every_region_equals_the_whole_decode(void **state)
{
	static const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2},
					   {1, 2}, {4, 1}, {4, 2}};
	static const unsigned sizes[][2] = {
		{161, 117}, {64, 48}, {1, 1}, {7, 130}, {130, 3}};

	(void)state;
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_region_equals_the_whole_decode),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("prep_jpeg", tests, NULL, NULL);
}
