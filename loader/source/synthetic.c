/*
 * synthetic.c - samples that need no storage: a few pictures made in memory, over and
 * over. It measures what everything but storage costs.
 */
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "loader/base/random.h"
#include "loader/base/thread_pool.h"
#include "loader/source/index/file_kind.h"
#include "loader/source/variant.h"

#include <errno.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <jpeglib.h>

/* ---- one picture ---- */

struct synthetic_jpeg {
	unsigned char *data; /* free() it */
	size_t size;
};

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
static void synthetic_jpeg_draw(uint64_t seed, unsigned y, unsigned width, JSAMPLE *row)
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
		synthetic_jpeg_draw(seed, jpeg->next_scanline, jpeg->image_width, row);
		jpeg_write_scanlines(jpeg, &row, 1);
	}
	jpeg_finish_compress(jpeg);
}

/*
 * A colour picture of about 500 x 375, baseline, 4:2:0, quality 91, whose content and
 * size in bytes (about 110 KB) depend on the seed. 0 or -ENOMEM.
 */
static int synthetic_jpeg_make(uint64_t seed, struct synthetic_jpeg *made)
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

/* ---- the data set ---- */

enum { MOST_PICTURES = 16, CLASSES = 10, COUNT = 10000 };

struct synthetic {
	struct synthetic_jpeg pictures[MOST_PICTURES];
	unsigned used; /* of these: no more than there are samples */
	uint64_t seed;
	atomic_uint next; /* picture to make */
	atomic_int failed;
};

static const char prefix[] = "synthetic";

static bool synthetic_claims(const char *dataset, const struct stat *status,
			     const struct source_config *config)
{
	(void)config;
	size_t length = sizeof(prefix) - 1;

	(void)status;
	return strncmp(dataset, prefix, length) == 0 &&
	       (dataset[length] == '\0' || dataset[length] == ':');
}

static void synthetic_spell(const char *dataset, char *name, size_t size)
{
	snprintf(name, size, "%s", dataset);
}

static bool synthetic_read_count(const char *dataset, uint32_t *count)
{
	const char *text = dataset + sizeof(prefix) - 1;

	*count = COUNT;
	return *text == '\0' || number_count(text + 1, UINT32_MAX, count);
}

static void synthetic_make_pictures(void *context)
{
	struct synthetic *synthetic = context;
	unsigned i;

	while ((i = atomic_fetch_add(&synthetic->next, 1)) < synthetic->used)
		if (synthetic_jpeg_make(random_seed(synthetic->seed, i, 0),
					&synthetic->pictures[i]) < 0)
			synthetic->failed = 1;
}

static void synthetic_close(void *state)
{
	struct synthetic *synthetic = state;

	for (unsigned i = 0; i < synthetic->used; i++)
		free(synthetic->pictures[i].data);
	free(synthetic);
}

static uint64_t synthetic_bytes(const struct synthetic *synthetic, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < synthetic->used; i++)
		sum += synthetic->pictures[i].size *
		       (count / synthetic->used + (i < count % synthetic->used));
	return sum;
}

static uint64_t synthetic_digest(const struct synthetic *synthetic, uint32_t count)
{
	uint64_t hash = count;

	for (unsigned i = 0; i < synthetic->used; i++)
		hash = XXH3_64bits_withSeed(synthetic->pictures[i].data,
					    synthetic->pictures[i].size, hash);
	return hash;
}

static void *synthetic_open(const char *dataset, const struct source_config *config,
			    struct source_facts *facts, struct error *err)
{
	struct synthetic *synthetic;
	uint32_t count;

	if (file_kind_of(config->prep) != file_kind_of(NULL))
		return error_null(
			error_set(err, EINVAL,
				  "a synthetic data set has pictures, and no %s: "
				  "name a folder or file for prep=%s",
				  file_kind_of(config->prep)->words, config->prep));
	if (!synthetic_read_count(dataset, &count))
		return error_null(error_set(
			err, EINVAL,
			"'%.60s' is no synthetic data set: give synthetic:COUNT, COUNT "
			"from 1 to %u",
			dataset, UINT32_MAX));
	synthetic = calloc(1, sizeof(*synthetic));
	if (synthetic == NULL)
		goto no_memory;
	synthetic->seed = config->seed;
	synthetic->used = count < MOST_PICTURES ? count : MOST_PICTURES;
	thread_pool_run(config->threads, synthetic_make_pictures, synthetic);
	if (synthetic->failed)
		goto no_memory;
	*facts = (struct source_facts){
		.count = count,
		.classes = CLASSES,
		.bytes = synthetic_bytes(synthetic, count),
		.digest = synthetic_digest(synthetic, count),
	};
	return synthetic;

no_memory:
	if (synthetic != NULL)
		synthetic_close(synthetic);
	error_sys(err, ENOMEM, "cannot make synthetic pictures");
	return NULL;
}

static const struct synthetic_jpeg *synthetic_picture(const void *state,
						      uint32_t sample)
{
	const struct synthetic *synthetic = state;

	return &synthetic->pictures[sample % synthetic->used];
}

static uint32_t synthetic_size(const void *state, uint32_t sample)
{
	return (uint32_t)synthetic_picture(state, sample)->size;
}

static uint32_t synthetic_label(const void *state, uint32_t sample)
{
	(void)state;
	return sample % CLASSES;
}

static void synthetic_place(const void *state, uint32_t sample, char *buffer,
			    struct source_place *place)
{
	(void)buffer;
	*place = (struct source_place){
		.dir = -1,
		.memory = synthetic_picture(state, sample)->data,
		.size = synthetic_size(state, sample),
	};
}

static const char *synthetic_class(const void *state, uint32_t number)
{
	static const char *const names[CLASSES] = {"0", "1", "2", "3", "4",
						   "5", "6", "7", "8", "9"};

	(void)state;
	return names[number];
}

static const char *synthetic_name(const void *state, uint32_t sample, char *buffer,
				  size_t size)
{
	(void)state;
	snprintf(buffer, size, "synthetic %u", sample);
	return buffer;
}

const struct source_variant source_synthetic = {
	.kind = "synthetic",
	.claims = synthetic_claims,
	.spell = synthetic_spell,
	.open = synthetic_open,
	.close = synthetic_close,
	.size = synthetic_size,
	.label = synthetic_label,
	.place = synthetic_place,
	.class = synthetic_class,
	.name = synthetic_name,
};
