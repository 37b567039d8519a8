/* canvas.c - makes a sample of a decoded picture: crop, resize, flip, normalise. */
#include "loader/prep/canvas.h"
#include "loader/base/error.h"
#include "loader/prep/crop.h"
#include "loader/prep/op.h"
#include "loader/prep/resample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct canvas_worker {
	const struct prep_config *config;
	struct resampler *resampler;
	struct scratch rows;
};

static void canvas_free(void *state)
{
	struct canvas_worker *worker = state;

	resampler_free(worker->resampler);
	scratch_fini(&worker->rows);
	free(worker);
}

static void *canvas_new(const struct prep_config *config)
{
	struct canvas_worker *worker = calloc(1, sizeof(*worker));

	if (worker == NULL)
		return NULL;
	worker->config = config;
	worker->resampler = resampler_new(config, kernel_best());
	if (worker->resampler == NULL) {
		canvas_free(worker);
		return NULL;
	}
	return worker;
}

/* Copies the header, then checks the copy: the writer may change it meanwhile. */
static int canvas_read_header(const struct prep_sample *sample, struct canvas *canvas,
			      struct error *err)
{
	uint64_t pixels;

	if (sample->size < CANVAS_HEADER)
		return error_set(err, EBADMSG, "no decoded picture: %zu bytes",
				 sample->size);
	memcpy(canvas, sample->bytes, sizeof(*canvas));
	pixels = (uint64_t)canvas->width * canvas->height;
	if (canvas->magic != CANVAS_MAGIC)
		return error_set(err, EBADMSG, "no decoded picture: begins with %08x",
				 canvas->magic);
	if (pixels == 0 || pixels > CANVAS_PIXELS ||
	    pixels * 3 > sample->size - CANVAS_HEADER)
		return error_set(err, EBADMSG,
				 "a decoded picture of %ux%u pixels in %zu bytes",
				 canvas->width, canvas->height, sample->size);
	if (canvas->orientation < 1 || canvas->orientation > 8)
		return error_set(err, EBADMSG, "no orientation of a picture: %u",
				 canvas->orientation);
	return 0;
}

/* R G B to R G B and anything. */
static void canvas_unpack(const uint8_t *from, unsigned width, uint8_t *to)
{
	for (; width > 1; width--, from += 3, to += 4)
		memcpy(to, from, 4);
	memcpy(to, from, 3);
}

/* Streams the part that the filters read into the resampler. */
static int canvas_stream(struct canvas_worker *worker, const uint8_t *pixels,
			 size_t stride, const struct filter *x, const struct filter *y)
{
	const unsigned at_once = resampler_rows(worker->resampler);
	const size_t room = ((size_t)x->length + 3) / 4 * 16;
	uint8_t *unpacked = scratch_get(&worker->rows, at_once * room);
	const uint8_t *row[KERNEL_ROWS_MAX];

	if (unpacked == NULL)
		return -ENOMEM;
	pixels += y->first * stride + (size_t)3 * x->first;
	for (unsigned done = 0; done < y->length; done += at_once) {
		for (unsigned i = 0; i < at_once; i++) {
			row[i] = unpacked + i * room;
			if (done + i < y->length)
				canvas_unpack(pixels + (done + i) * stride, x->length,
					      unpacked + i * room);
		}
		resampler_feed(worker->resampler, row);
	}
	resampler_end(worker->resampler);
	return 0;
}

static int canvas_run(void *state, const struct prep_sample *sample, void *out,
		      struct error *err)
{
	struct canvas_worker *worker = state;
	struct canvas canvas = {0};
	struct crop crop;
	struct filter x, y;
	int result = canvas_read_header(sample, &canvas, err);

	if (result < 0)
		return result;
	crop = crop_draw(worker->config, canvas.width, canvas.height,
			 canvas.orientation, sample->seed);
	result = resampler_begin(worker->resampler, &crop, out, &x, &y);
	if (result == 0)
		result = canvas_stream(worker, sample->bytes + CANVAS_HEADER,
				       (size_t)3 * canvas.width, &x, &y);
	if (result < 0)
		return error_sys(err, ENOMEM,
				 "cannot resample a picture of %ux%u pixels",
				 canvas.width, canvas.height);
	return 0;
}

const struct prep_op prep_canvas = {
	.name = "canvas",
	.state_new = canvas_new,
	.state_free = canvas_free,
	.run = canvas_run,
};
