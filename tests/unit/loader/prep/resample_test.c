/* The resampler's kernels against a plain one that does the same sums one by one. */
#include "loader/base/random.h"
#include "loader/prep.h"
#include "loader/prep/crop.h"
#include "loader/prep/kernel.h"
#include "loader/prep/resample.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4 }; /* pixels readable behind a row */

static const struct prep_config plain = {.op = "image",
					 .size = 1,
					 .mean = {.485f, .456f, .406f},
					 .std = {.229f, .224f, .225f}};

struct source {
	unsigned width, height;
	uint8_t *pixels;
};

static const uint8_t *source_row(const struct source *source, unsigned y)
{
	return source->pixels + (size_t)4 * (source->width + ROOM) * y;
}

static struct source source_new(struct random *random, unsigned width, unsigned height)
{
	struct source source = {width, height, NULL};
	size_t bytes = (size_t)4 * (width + ROOM) * height;

	source.pixels = malloc(bytes);
	assert_non_null(source.pixels);
	for (size_t i = 0; i < bytes; i++)
		source.pixels[i] = (uint8_t)(random_next(random) >> 56);
	return source;
}

/* What a crop of one whole axis looks like. */
static struct span whole(unsigned length, unsigned outputs, bool mirrored)
{
	return (struct span){.length = length,
			     .outputs = outputs,
			     .count = outputs,
			     .mirrored = mirrored};
}

static void resample(const struct prep_config *config, const struct kernel *kernel,
		     const struct source *source, const struct crop *crop, void *out)
{
	struct resampler *resampler = resampler_new(config, kernel);
	unsigned at_once = kernel->rows;
	struct filter x, y;

	assert_non_null(resampler);
	assert_int_equal(resampler_begin(resampler, crop, out, &x, &y), 0);
	for (unsigned done = 0; done < y.length; done += at_once) {
		const uint8_t *rows[KERNEL_ROWS_MAX];

		for (unsigned i = 0; i < at_once; i++) {
			unsigned row = done + i < y.length ? done + i : done;

			rows[i] =
				source_row(source, y.first + row) + (size_t)4 * x.first;
		}
		resampler_feed(resampler, rows);
	}
	resampler_end(resampler);
	resampler_free(resampler);
}

/* One value of the sample, 0 to 255, in the order of operations that kernel.h tells. */
static float plain_value(const struct source *source, const struct filter *across,
			 const struct filter *down, const unsigned at[3])
{
	const float *wy = down->weight + (size_t)at[1] * down->taps;
	const float *wx = across->weight + (size_t)at[0] * across->taps;
	float sum = 0;

	for (unsigned j = 0; j < down->taps; j++) {
		const uint8_t *row =
			source_row(source, down->first + down->start[at[1]] + j) +
			4 * (across->first + across->start[at[0]]);
		float line = 0;

		for (unsigned i = 0; i < across->taps; i++) {
			float part = row[4 * i + at[2]] * wx[i];

			line += part;
		}
		line *= wy[j];
		sum += line;
	}
	return sum;
}

static void plain_resample(const struct prep_config *config,
			   const struct source *source, const struct crop *crop,
			   float *out)
{
	struct scratch across_table = {0}, down_table = {0};
	struct filter across, down;
	unsigned size = config->size;

	filter_init(&across, &crop->x, &across_table);
	filter_init(&down, &crop->y, &down_table);
	for (unsigned c = 0; c < 3; c++) {
		float factor = 1 / (255 * config->std[c]);
		float offset = -config->mean[c] / config->std[c];

		for (unsigned y = 0; y < size; y++)
			for (unsigned x = 0; x < size; x++) {
				unsigned at[3] = {x, y, c};
				float scaled = plain_value(source, &across, &down, at);

				scaled *= factor;
				out[(c * size + y) * size + x] = scaled + offset;
			}
	}
	scratch_fini(&across_table);
	scratch_fini(&down_table);
}

static void check_kernels(struct random *random)
{
	struct prep_config config = plain;
	struct source source = source_new(random, 1 + random_below(random, 150),
					  1 + random_below(random, 150));
	struct crop crop;
	float *want, *got;
	size_t bytes;

	config.type = PREP_F32;
	config.size = 1 + random_below(random, 80);
	bytes = 3 * sizeof(float) * config.size * config.size;
	want = malloc(bytes);
	got = aligned_alloc(64, (bytes + 63) / 64 * 64);
	crop = (struct crop){
		.x = whole(source.width, config.size, random_below(random, 2)),
		.y = whole(source.height, config.size, random_below(random, 2)),
	};
	plain_resample(&config, &source, &crop, want);
	for (const struct kernel *const *kernel = kernels; *kernel != NULL; kernel++) {
		if (!(*kernel)->usable())
			continue;
		memset(got, 0xff, bytes);
		resample(&config, *kernel, &source, &crop, got);
		if (memcmp(got, want, bytes) != 0)
			fail_msg("%s: %ux%u to %u differs", (*kernel)->name,
				 source.width, source.height, config.size);
	}
	free(want);
	free(got);
	free(source.pixels);
}

TEST(every_kernel_gives_the_plain_sums_bit_by_bit)
{
	struct random random = {.state = 7};

	for (int i = 0; i < 150; i++)
		check_kernels(&random);
}

/* What a binary16 stands for. */
static double half_value(unsigned half)
{
	int exponent = half >> 10 & 31, fraction = half & 1023;
	double size = exponent == 0 ? ldexp(fraction, -24)
				    : ldexp(1024 + fraction, exponent - 25);

	return half & 0x8000 ? -size : size;
}

/* The nearest binary16, the even one of two; 2^16, the next number, is infinity. */
static uint16_t nearest_half(double value)
{
	unsigned low = 0, high = 0x7c00, sign = signbit(value) ? 0x8000 : 0;
	double size = fabs(value);

	if (size >= 65536)
		return (uint16_t)(sign | high);
	while (high - low > 1) {
		unsigned middle = (low + high) / 2;

		if (half_value(middle) <= size)
			low = middle;
		else
			high = middle;
	}
	if (size - half_value(low) > half_value(high) - size ||
	    (size - half_value(low) == half_value(high) - size && (low & 1)))
		low = high;
	return (uint16_t)(sign | low);
}

enum { VALUES = 997, BEHIND = 16 };

static void fill_values(struct random *random, float *values, double largest)
{
	for (size_t i = 0; i < VALUES + BEHIND; i++)
		values[i] = (float)(largest * random_unit(random));
}

TEST(every_kernel_gives_the_nearest_halves)
{
	static const double largest[] = {1e-8, 1e-6, 1e-4, 1, 3, 1000, 7e4, 1e9};
	struct random random = {.state = 3};
	float values[VALUES + BEHIND];
	uint16_t halves[VALUES];

	for (const struct kernel *const *kernel = kernels; *kernel != NULL; kernel++)
		for (size_t l = 0; l < sizeof(largest) / sizeof(largest[0]); l++) {
			if (!(*kernel)->usable())
				continue;
			fill_values(&random, values, largest[l]);
			for (size_t i = 0; i < VALUES; i++)
				if (i % 3 == 0) /* halfway cases */
					values[i] = (float)(half_value(i * 31) +
							    half_value(i * 31 + 1)) /
						    2;
			values[5] = -values[5];
			values[7] = 65519.996f; /* the last that is not infinity */
			(*kernel)->to_halves(values, VALUES, halves);
			for (size_t i = 0; i < VALUES; i++)
				if (halves[i] != nearest_half(values[i]))
					fail_msg("%s: %.9g is %#x", (*kernel)->name,
						 (double)values[i], halves[i]);
		}
}

TEST(every_kernel_cuts_off_to_bytes)
{
	struct random random = {.state = 4};
	float values[VALUES + BEHIND];
	uint8_t bytes[VALUES];

	for (const struct kernel *const *kernel = kernels; *kernel != NULL; kernel++) {
		if (!(*kernel)->usable())
			continue;
		fill_values(&random, values, 255.6);
		values[1] = 256;
		(*kernel)->to_bytes(values, VALUES, bytes);
		for (size_t i = 0; i < VALUES; i++)
			assert_int_equal(bytes[i],
					 values[i] >= 255 ? 255 : (int)values[i]);
	}
}
