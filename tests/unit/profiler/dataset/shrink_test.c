/* shrink_test.c - a picture made smaller is the same picture. */
#include "loader/base/error.h"
#include "loader/jpeg.h"
#include "profiler/dataset/shrink.h"
#include "tests/lib/nomem.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decodes all of it; the caller frees it. Three bytes a pixel. */
static uint8_t *decoded(const uint8_t *bytes, size_t size, struct jpeg_info *info)
{
	struct jpeg *jpeg = jpeg_new();
	struct jpeg_region all = {0};
	uint8_t *rgb;

	assert_non_null(jpeg);
	assert_int_equal(jpeg_open(jpeg, bytes, size, info, NULL), 0);
	all.width = info->width;
	all.height = info->height;
	rgb = malloc((size_t)3 * all.width * all.height);
	assert_int_equal(jpeg_begin(jpeg, &all, NULL), 0);
	for (unsigned y = 0; y < all.height; y++) {
		const uint8_t *row;

		assert_int_equal(jpeg_rows(jpeg, 1, &row, NULL), 0);
		for (unsigned x = 0; x < all.width; x++)
			memcpy(rgb + 3 * ((size_t)y * all.width + x), row + 4 * x, 3);
	}
	assert_int_equal(jpeg_end(jpeg, NULL), 0);
	jpeg_free(jpeg);
	return rgb;
}

/* Mean of what a pixel of the small picture covers in the large one. */
static double covered(const uint8_t *rgb, const struct jpeg_info *info, double scale,
		      unsigned x, unsigned y)
{
	unsigned from_x = (unsigned)(x * scale), from_y = (unsigned)(y * scale);
	unsigned side = (unsigned)ceil(scale), count = 0;
	double sum = 0;

	for (unsigned v = from_y; v < from_y + side && v < info->height; v++)
		for (unsigned u = from_x; u < from_x + side && u < info->width; u++) {
			sum += rgb[3 * ((size_t)v * info->width + u)];
			count++;
		}
	return sum / count;
}

/* Mean difference of the two, in levels of red: the filter is wider than a pixel, and both
 * were encoded. */
static double difference(const uint8_t *large, const struct jpeg_info *from,
			 const uint8_t *small, const struct jpeg_info *to)
{
	double sum = 0, scale = (double)from->width / to->width;

	for (unsigned y = 0; y < to->height; y++)
		for (unsigned x = 0; x < to->width; x++)
			sum += fabs(covered(large, from, scale, x, y) -
				    small[3 * ((size_t)y * to->width + x)]);
	return sum / to->width / to->height;
}

static void shrinks(const struct picture *picture, unsigned shorter, unsigned width,
		    unsigned height)
{
	struct shrinker *shrinker = shrinker_new();
	struct jpeg_info from, to;
	struct error err = {0};
	struct shrunk shrunk;
	uint8_t *large, *small;
	size_t size;
	unsigned char *jpeg = picture_jpeg(picture, &size);

	assert_non_null(shrinker);
	if (shrinker_run(shrinker, jpeg, size, shorter, 95, &shrunk, &err) != 0)
		fail_msg("%s", err.message);
	assert_false(shrunk.same);
	large = decoded(jpeg, size, &from);
	small = decoded(shrunk.bytes, shrunk.size, &to);
	assert_int_equal(to.width, width);
	assert_int_equal(to.height, height);
	assert_int_equal(to.orientation, from.orientation);
	assert_true(difference(large, &from, small, &to) < 8);
	free(small);
	free(large);
	free(jpeg);
	shrinker_free(shrinker);
}

TEST(pictures_get_smaller)
{
	shrinks(&(struct picture){.width = 300, .height = 200}, 100, 150, 100);
	shrinks(&(struct picture){.width = 120, .height = 240, .h = 2, .v = 2}, 50, 50,
		100);
	/* Reduced while it is decoded, and then resized. */
	shrinks(&(struct picture){.width = 900, .height = 600}, 64, 96, 64);
	shrinks(&(struct picture){.width = 200, .height = 100, .color = PICTURE_GRAY},
		99, 198, 99);
}

TEST(a_turned_picture_stays_turned)
{
	for (unsigned turned = 1; turned <= 8; turned++)
		shrinks(&(struct picture){.width = 160,
					  .height = 120,
					  .orientation = turned},
			60, 80, 60);
}

TEST(small_ones_stay_as_they_are)
{
	struct shrinker *shrinker = shrinker_new();
	struct shrunk shrunk;
	size_t size;
	unsigned char *jpeg =
		picture_jpeg(&(struct picture){.width = 100, .height = 80}, &size);

	assert_int_equal(shrinker_run(shrinker, jpeg, size, 80, 95, &shrunk, NULL), 0);
	assert_true(shrunk.same && shrunk.bytes == jpeg && shrunk.size == size);
	free(jpeg);
	shrinker_free(shrinker);
}

TEST(broken_ones_are_refused_and_the_next_works)
{
	struct shrinker *shrinker = shrinker_new();
	struct shrunk shrunk;
	struct error err = {0};
	size_t size;
	unsigned char *jpeg =
		picture_jpeg(&(struct picture){.width = 300, .height = 200}, &size);

	assert_int_equal(shrinker_run(shrinker, jpeg, size / 2, 50, 95, &shrunk, &err),
			 -EBADMSG);
	assert_true(err.message[0] != '\0');
	assert_int_equal(shrinker_run(shrinker, "no JPEG", 7, 50, 95, &shrunk, NULL),
			 -EBADMSG);
	assert_int_equal(shrinker_run(shrinker, jpeg, size, 50, 95, &shrunk, NULL), 0);
	free(jpeg);
	shrinker_free(shrinker);
}

TEST(memory_may_be_short)
{
	int result = -ENOMEM;
	size_t size;
	unsigned char *jpeg =
		picture_jpeg(&(struct picture){.width = 64, .height = 48}, &size);

	for (unsigned n = 1; result == -ENOMEM; n++) {
		struct shrinker *shrinker;
		struct shrunk shrunk;

		nomem_at(n);
		shrinker = shrinker_new();
		result = shrinker == NULL ? -ENOMEM
					  : shrinker_run(shrinker, jpeg, size, 24, 95,
							 &shrunk, NULL);
		nomem_at(0);
		shrinker_free(shrinker);
	}
	assert_int_equal(result, 0);
	free(jpeg);
}
