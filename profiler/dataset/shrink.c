/* shrink.c - decodes row by row, filters along both axes, and encodes again. */
#include "profiler/dataset/shrink.h"
#include "loader/base/error.h"
#include "loader/base/scratch.h"
#include "loader/filter.h"
#include "loader/jpeg.h"
#include "profiler/dataset/draw/encoder.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { CHANNELS = 3, STORED = 4 /* bytes of a decoded pixel */ };

struct shrinker {
	struct jpeg *jpeg;
	struct encoder *encoder;
	struct scratch x, y, rows, rgb; /* tables, filtered rows, the result */
};

struct shrinker *shrinker_new(void)
{
	struct shrinker *shrinker = calloc(1, sizeof(*shrinker));

	if (shrinker == NULL)
		return NULL;
	shrinker->jpeg = jpeg_new();
	shrinker->encoder = encoder_new();
	if (shrinker->jpeg != NULL && shrinker->encoder != NULL)
		return shrinker;
	shrinker_free(shrinker);
	return NULL;
}

void shrinker_free(struct shrinker *shrinker)
{
	if (shrinker == NULL)
		return;
	jpeg_free(shrinker->jpeg);
	encoder_free(shrinker->encoder);
	scratch_fini(&shrinker->x);
	scratch_fini(&shrinker->y);
	scratch_fini(&shrinker->rows);
	scratch_fini(&shrinker->rgb);
	free(shrinker);
}

/* From `from` pixels to fewer. 0 or -ENOMEM. */
static int shrink_filter(struct filter *filter, unsigned from, unsigned to,
			 struct scratch *scratch)
{
	const struct span whole = {.length = from, .outputs = to, .count = to};

	return filter_init(filter, &whole, scratch);
}

/* A row of pixels, along x. */
static void shrink_row(const struct filter *x, const uint8_t *row, float *out)
{
	for (unsigned i = 0; i < x->outputs; i++) {
		const uint8_t *pixel = row + (size_t)x->start[i] * STORED;
		const float *weight = x->weight + (size_t)i * x->taps;
		float sum[CHANNELS] = {0};

		for (unsigned k = 0; k < x->taps; k++, pixel += STORED)
			for (int c = 0; c < CHANNELS; c++)
				sum[c] += weight[k] * pixel[c];
		for (int c = 0; c < CHANNELS; c++)
			*out++ = sum[c];
	}
}

/* Output row i, of rows `width` values wide. */
static void shrink_column(const struct filter *y, unsigned i, const float *rows,
			  size_t width, uint8_t *out)
{
	const float *weight = y->weight + (size_t)i * y->taps;

	for (size_t at = 0; at < width; at++) {
		const float *value = rows + y->start[i] * width + at;
		float sum = 0;

		for (unsigned k = 0; k < y->taps; k++)
			sum += weight[k] * value[k * width];
		out[at] = (uint8_t)(fminf(fmaxf(sum, 0), 255) + .5F);
	}
}

static int shrink_decode(struct shrinker *shrinker, const struct filter *x,
			 unsigned height, float *rows, struct error *err)
{
	int result = 0;

	for (unsigned i = 0; result == 0 && i < height; i++) {
		const uint8_t *row;

		result = jpeg_rows(shrinker->jpeg, 1, &row, err);
		if (result == 0)
			shrink_row(x, row, rows + (size_t)i * x->outputs * CHANNELS);
	}
	return result == 0 ? jpeg_end(shrinker->jpeg, err) : result;
}

/* The picture, whose header was read, at sides[0] x sides[1], into shrinker->rgb. */
static int shrink_resize(struct shrinker *shrinker, const struct jpeg_info *info,
			 const unsigned sides[2], struct error *err)
{
	const struct jpeg_region whole = {0, 0, info->width, info->height};
	size_t width = (size_t)sides[0] * CHANNELS;
	float *rows =
		scratch_get(&shrinker->rows, info->height * width * sizeof(*rows));
	uint8_t *rgb = scratch_get(&shrinker->rgb, sides[1] * width);
	struct filter x, y;
	int result;

	if (rows == NULL || rgb == NULL ||
	    shrink_filter(&x, info->width, sides[0], &shrinker->x) < 0 ||
	    shrink_filter(&y, info->height, sides[1], &shrinker->y) < 0)
		return error_sys(err, ENOMEM, "cannot resize a JPEG of %ux%u pixels",
				 info->width, info->height);
	result = jpeg_begin(shrinker->jpeg, &whole, err);
	if (result == 0)
		result = shrink_decode(shrinker, &x, info->height, rows, err);
	for (unsigned i = 0; result == 0 && i < sides[1]; i++)
		shrink_column(&y, i, rows, width, rgb + i * width);
	return result;
}

/* Large ones are reduced while they are decoded, to no less than twice what is asked. */
static void shrink_reduce(struct shrinker *shrinker, unsigned shorter,
			  struct jpeg_info *info)
{
	unsigned least = info->width < info->height ? info->width : info->height;
	unsigned eighths = (unsigned)(((uint64_t)shorter * 16 + least - 1) / least);

	if (eighths < 8)
		jpeg_reduce(shrinker->jpeg, eighths > 0 ? eighths : 1, info);
}

int shrinker_run(struct shrinker *shrinker, const void *jpeg, size_t size,
		 unsigned shorter, int quality, struct shrunk *shrunk,
		 struct error *err)
{
	struct jpeg_info info;
	int result = jpeg_open(shrinker->jpeg, jpeg, size, &info, err);
	unsigned least, sides[2];

	if (result < 0)
		return result;
	least = info.width < info.height ? info.width : info.height;
	*shrunk = (struct shrunk){jpeg, size, least <= shorter};
	if (shrunk->same)
		return 0;
	sides[0] = (unsigned)round((double)info.width * shorter / least);
	sides[1] = (unsigned)round((double)info.height * shorter / least);
	shrink_reduce(shrinker, shorter, &info);
	result = shrink_resize(shrinker, &info, sides, err);
	if (result < 0)
		return result;
	shrunk->bytes = encoder_run(shrinker->encoder, shrinker->rgb.memory, sides,
				    info.orientation, quality, &shrunk->size);
	return shrunk->bytes == NULL ? error_sys(err, ENOMEM, "cannot encode a JPEG")
				     : 0;
}
