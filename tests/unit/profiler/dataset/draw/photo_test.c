#include "profiler/dataset/draw/draw.h"
#include "profiler/dataset/draw/pattern.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

static struct draw_config config_of(double mean)
{
	return (struct draw_config){
		.seed = 7, .size_mean = mean, .quality = 91, .classes = 10};
}

static double mean_size(double mean, int quality, uint32_t count)
{
	struct draw_config config = config_of(mean);
	void *photo;
	double sum = 0;

	config.quality = quality;
	photo = draw_photos.open(&config);
	assert_non_null(photo);
	for (uint32_t i = 0; i < count; i++) {
		size_t size;

		assert_non_null(draw_photos.take(photo, i, &size));
		sum += (double)size;
	}
	draw_photos.close(photo);
	return sum / count;
}

TEST(sizes_have_the_mean_asked_for)
{
	static const double means[] = {5e3, 30e3, 110e3, 400e3};

	for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++) {
		double mean = mean_size(means[i], 91, means[i] > 200e3 ? 20 : 60);

		assert_true(mean > 0.9 * means[i] && mean < 1.1 * means[i]);
	}
}

TEST(sizes_have_it_at_other_qualities)
{
	static const int qualities[] = {50, 75, 86, 97, 100};

	for (size_t i = 0; i < sizeof(qualities) / sizeof(qualities[0]); i++) {
		double small = mean_size(5e3, qualities[i], 60);
		double larger = mean_size(30e3, qualities[i], 20);

		assert_true(small > 4500 && small < 5500);
		assert_true(larger > 27e3 && larger < 33e3);
	}
}

/* Opens picture `number` for a look; the caller destroys jpeg. */
static void read_header(void *photo, uint32_t number,
			struct jpeg_decompress_struct *jpeg,
			struct jpeg_error_mgr *errors)
{
	const uint8_t *bytes;
	size_t size;

	bytes = draw_photos.take(photo, number, &size);
	assert_non_null(bytes);
	jpeg->err = jpeg_std_error(errors);
	jpeg_create_decompress(jpeg);
	jpeg_mem_src(jpeg, bytes, size);
	assert_int_equal(jpeg_read_header(jpeg, TRUE), JPEG_HEADER_OK);
}

TEST(files_are_baseline_420_without_restart_markers)
{
	struct draw_config config = config_of(110e3);
	void *photo = draw_photos.open(&config);

	for (uint32_t i = 0; i < 10; i++) {
		struct jpeg_decompress_struct jpeg;
		struct jpeg_error_mgr errors;

		read_header(photo, i, &jpeg, &errors);
		assert_false(jpeg.progressive_mode || jpeg.arith_code);
		assert_int_equal(jpeg.restart_interval, 0);
		assert_int_equal(jpeg.jpeg_color_space, JCS_YCbCr);
		assert_int_equal(jpeg.comp_info[0].h_samp_factor, 2);
		assert_int_equal(jpeg.comp_info[0].v_samp_factor, 2);
		assert_int_equal(jpeg.comp_info[1].h_samp_factor, 1);
		assert_int_equal(jpeg.comp_info[1].v_samp_factor, 1);
		/* the luminance table's first step at quality 91 */
		assert_int_equal(jpeg.quant_tbl_ptrs[0]->quantval[0], 3);
		jpeg_destroy_decompress(&jpeg);
	}
	draw_photos.close(photo);
}

TEST(half_the_pictures_are_500_wide_and_the_rest_varies)
{
	struct draw_config config = config_of(110e3);
	void *photo = draw_photos.open(&config);
	unsigned common = 0, upright = 0;

	for (uint32_t i = 0; i < 40; i++) {
		struct jpeg_decompress_struct jpeg;
		struct jpeg_error_mgr errors;

		read_header(photo, i, &jpeg, &errors);
		common += jpeg.image_width == 500 || jpeg.image_height == 500;
		upright += jpeg.image_height > jpeg.image_width;
		jpeg_destroy_decompress(&jpeg);
	}
	draw_photos.close(photo);
	assert_in_range(common, 10, 32);
	assert_in_range(upright, 2, 20);
}

TEST(a_picture_depends_on_its_number_alone)
{
	struct draw_config config = config_of(20e3);
	void *one = draw_photos.open(&config), *other = draw_photos.open(&config);
	const uint8_t *bytes, *again;
	size_t size, size_again;

	draw_photos.take(other, 3, &size);
	draw_photos.take(other, 11, &size);
	bytes = draw_photos.take(one, 5, &size);
	again = draw_photos.take(other, 5, &size_again);
	assert_int_equal(size, size_again);
	assert_memory_equal(bytes, again, size);
	again = draw_photos.take(other, 15, &size_again);
	assert_false(size == size_again && memcmp(bytes, again, size) == 0);
	draw_photos.close(one);
	draw_photos.close(other);
}

TEST(opening_says_so_when_memory_runs_out)
{
	struct draw_config config = config_of(5e3);
	void *photo = NULL;
	unsigned failures = 0;

	for (;; failures++) {
		nomem_at(failures + 1);
		photo = draw_photos.open(&config);
		nomem_at(0);
		if (photo != NULL)
			break;
	}
	assert_true(failures >= 4);
	draw_photos.close(photo);
}

TEST(classes_have_names_of_their_own_in_order)
{
	char name[PATTERN_NAME], last[PATTERN_NAME] = "";

	for (unsigned i = 0; i < PATTERN_CLASSES; i++) {
		pattern_name(i, name);
		if (i == 10)
			last[0] = '\0'; /* the pairs start anew */
		assert_true(strcmp(last, name) < 0);
		assert_true(strlen(name) + 1 < PATTERN_NAME);
		memcpy(last, name, sizeof(last));
	}
}

TEST(every_figure_has_an_inside_and_an_outside)
{
	for (unsigned kind = 0; kind < 10; kind++) {
		unsigned inside = 0;

		for (int i = 0; i < 10000; i++) {
			float u = (float)(i % 100) * 0.07f - 3;
			float v = (float)i / 100 * 0.07f - 3;
			float depth = pattern_depth(kind, u, v, 0.5f, 1);

			assert_true(depth > -1 && depth < 1);
			inside += depth > 0;
		}
		assert_in_range(inside, 800, 6000);
	}
}
