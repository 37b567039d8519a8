/* image.c - decodes a region and resamples it into the sample, in one stream of
 * rows. */
#include "loader/base/error.h"
#include "loader/jpeg.h"
#include "loader/prep/crop.h"
#include "loader/prep/op.h"
#include "loader/prep/resample.h"

#include <errno.h>
#include <stdlib.h>

struct image {
	const struct prep_config *config;
	struct jpeg *jpeg;
	struct resampler *resampler;
};

static void image_free(void *state)
{
	struct image *image = state;

	jpeg_free(image->jpeg);
	resampler_free(image->resampler);
	free(image);
}

static void *image_new(const struct prep_config *config)
{
	struct image *image = malloc(sizeof(*image));

	if (image == NULL)
		return NULL;
	image->config = config;
	image->jpeg = jpeg_new();
	image->resampler = resampler_new(config, kernel_best());
	if (image->jpeg == NULL || image->resampler == NULL) {
		image_free(image);
		return NULL;
	}
	return image;
}

/* Streams `rows` rows from the decoder into the resampler. */
static int image_stream(struct image *image, unsigned rows, struct error *err)
{
	const unsigned at_once = resampler_rows(image->resampler);
	const uint8_t *row[KERNEL_ROWS_MAX];

	for (unsigned done = 0; done < rows; done += at_once) {
		unsigned count = rows - done < at_once ? rows - done : at_once;
		int result = jpeg_rows(image->jpeg, count, row, err);

		if (result < 0)
			return result;
		for (; count < at_once; count++)
			row[count] = row[0];
		resampler_feed(image->resampler, row);
	}
	return 0;
}

static int image_run(void *state, const struct prep_sample *sample, void *out,
		     struct error *err)
{
	struct image *image = state;
	struct jpeg_info info;
	struct crop crop;
	struct filter x, y;
	int result = jpeg_open(image->jpeg, sample->bytes, sample->size, &info, err);

	if (result < 0)
		return result;
	crop = crop_draw(image->config, info.width, info.height, info.orientation,
			 sample->seed);
	if (resampler_begin(image->resampler, &crop, out, &x, &y) < 0)
		return error_sys(err, ENOMEM, "cannot resample a JPEG of %ux%u pixels",
				 info.width, info.height);
	result = jpeg_begin(image->jpeg,
			    &(struct jpeg_region){x.first, y.first, x.length, y.length},
			    err);
	if (result == 0)
		result = image_stream(image, y.length, err);
	if (result == 0)
		result = jpeg_end(image->jpeg, err);
	if (result == 0)
		resampler_end(image->resampler);
	return result;
}

static uint64_t image_pixels(const void *state)
{
	const struct image *image = state;

	return jpeg_pixels(image->jpeg);
}

const struct prep_op prep_image = {
	.name = "image",
	.state_new = image_new,
	.state_free = image_free,
	.run = image_run,
	.pixels = image_pixels,
};
