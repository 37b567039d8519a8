/*
 * Colours say nothing about the class of a made picture: classifiers that see only the
 * colour histogram stay below 30 % of 10 classes. So that this can't be the classifiers'
 * own weakness, they are also shown pictures whose colours do tell.
 */
#include "loader/base/random.h"
#include "profiler/dataset/draw/draw.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { CLASSES = 10, SIDE = 4, BINS = SIDE * SIDE * SIDE };
enum { TRAIN = 1500, TEST = 500, ALL = TRAIN + TEST };

struct sample {
	unsigned label;
	float feature[BINS]; /* roots of the shares of the bins: length 1 */
};

static void count_colours(const uint8_t *bytes, size_t size, float *feature)
{
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	JSAMPARRAY row;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&jpeg);
	jpeg_mem_src(&jpeg, bytes, size);
	jpeg_read_header(&jpeg, TRUE);
	jpeg_start_decompress(&jpeg);
	row = jpeg.mem->alloc_sarray((j_common_ptr)&jpeg, JPOOL_IMAGE,
				     3 * jpeg.output_width, 1);
	while (jpeg.output_scanline < jpeg.output_height) {
		jpeg_read_scanlines(&jpeg, row, 1);
		for (unsigned x = 0; x < 3 * jpeg.output_width; x += 3)
			feature[row[0][x] / 64 * SIDE * SIDE +
				row[0][x + 1] / 64 * SIDE + row[0][x + 2] / 64]++;
	}
	for (unsigned i = 0; i < BINS; i++)
		feature[i] = sqrtf(feature[i] / (float)jpeg.output_width /
				   (float)jpeg.output_height);
	jpeg_finish_decompress(&jpeg);
	jpeg_destroy_decompress(&jpeg);
}

static struct sample *made_samples(void)
{
	struct draw_config config = {
		.seed = 5, .size_mean = 8e3, .quality = 91, .classes = CLASSES};
	void *photo = draw_photos.open(&config);
	struct sample *samples = calloc(ALL, sizeof(*samples));

	assert_true(photo != NULL && samples != NULL);
	for (uint32_t i = 0; i < ALL; i++) {
		size_t size;
		const uint8_t *bytes = draw_photos.take(photo, i, &size);

		assert_non_null(bytes);
		samples[i].label = i % CLASSES;
		count_colours(bytes, size, samples[i].feature);
	}
	draw_photos.close(photo);
	return samples;
}

/* Half of each histogram is one colour of the class, the rest is anything. */
static struct sample *telling_samples(void)
{
	struct sample *samples = calloc(ALL, sizeof(*samples));
	struct random random = {.state = 1};

	assert_non_null(samples);
	for (uint32_t i = 0; i < ALL; i++) {
		float *feature = samples[i].feature, sum = 0;

		samples[i].label = i % CLASSES;
		for (unsigned j = 0; j < BINS; j++)
			sum += feature[j] = (float)random_unit(&random);
		feature[6 * (i % CLASSES)] += sum;
		for (unsigned j = 0; j < BINS; j++)
			feature[j] = sqrtf(feature[j] / sum / 2);
	}
	return samples;
}

static float dot(const float *a, const float *b)
{
	float sum = 0;

	for (unsigned i = 0; i < BINS; i++)
		sum += a[i] * b[i];
	return sum;
}

static double nearest_accuracy(const struct sample *samples)
{
	unsigned correct = 0;

	for (unsigned i = TRAIN; i < ALL; i++) {
		unsigned best = 0;
		float most = -1;

		for (unsigned j = 0; j < TRAIN; j++) {
			float alike = dot(samples[i].feature, samples[j].feature);

			if (alike > most) {
				most = alike;
				best = j;
			}
		}
		correct += samples[best].label == samples[i].label;
	}
	return (double)correct / TEST;
}

static unsigned score(float weights[CLASSES][BINS], const float *feature,
		      double chance[CLASSES])
{
	double sum = 0;
	unsigned best = 0;

	for (unsigned c = 0; c < CLASSES; c++)
		sum += chance[c] = exp((double)dot(weights[c], feature));
	for (unsigned c = 0; c < CLASSES; c++) {
		chance[c] /= sum;
		best = chance[c] > chance[best] ? c : best;
	}
	return best;
}

/* Softmax regression by stochastic descent. */
static double logistic_accuracy(const struct sample *samples)
{
	static float weights[CLASSES][BINS];
	struct random random = {.state = 2};
	double chance[CLASSES];
	unsigned correct = 0;

	memset(weights, 0, sizeof(weights));
	for (unsigned step = 0; step < 60 * TRAIN; step++) {
		const struct sample *s = &samples[random_below(&random, TRAIN)];

		score(weights, s->feature, chance);
		for (unsigned c = 0; c < CLASSES; c++)
			for (unsigned i = 0; i < BINS; i++)
				weights[c][i] -= 0.1f * s->feature[i] *
						 (float)(chance[c] - (c == s->label));
	}
	for (unsigned i = TRAIN; i < ALL; i++)
		correct +=
			score(weights, samples[i].feature, chance) == samples[i].label;
	return (double)correct / TEST;
}

TEST(colours_do_not_tell_the_class)
{
	struct sample *samples = made_samples();
	double nearest = nearest_accuracy(samples),
	       logistic = logistic_accuracy(samples);

	free(samples);
	print_message("# by colour: nearest %.3f, logistic %.3f\n", nearest, logistic);
	assert_true(nearest < 0.3);
	assert_true(logistic < 0.3);
}

TEST(colours_would_tell_if_they_could)
{
	struct sample *samples = telling_samples();
	double nearest = nearest_accuracy(samples),
	       logistic = logistic_accuracy(samples);

	free(samples);
	assert_true(nearest > 0.6);
	assert_true(logistic > 0.6);
}
