/* decoded.c - decodes the whole picture once, for samples made of it (canvas.c). */
#include "loader/jpeg.h"
#include "loader/prep/canvas.h"
#include "loader/prep/op.h"

#include <string.h>

enum { EIGHTHS = 8, ROWS = 8 /* decoded at once */ };

/* How a picture is made to fit: eighths while decoding, then 1 pixel of box x box. */
struct fit {
	unsigned eighths, box;
};

_Static_assert(JPEG_PIXELS_MAX / (EIGHTHS * EIGHTHS) / (ROWS * ROWS) <
		       CANVAS_PIXELS / 4,
	       "a box of ROWS x ROWS always suffices");

static void *decoded_new(const struct prep_config *config)
{
	(void)config;
	return jpeg_new();
}

static void decoded_free(void *state)
{
	jpeg_free(state);
}

static unsigned decoded_divided(unsigned length, unsigned by)
{
	return (length + by - 1) / by;
}

static bool decoded_fits(unsigned width, unsigned height)
{
	return (uint64_t)width * height <= CANVAS_PIXELS;
}

static struct fit decoded_fit(unsigned width, unsigned height)
{
	struct fit fit = {.eighths = EIGHTHS, .box = 1};

	while (fit.eighths > 1 &&
	       !decoded_fits(decoded_divided(width * fit.eighths, EIGHTHS),
			     decoded_divided(height * fit.eighths, EIGHTHS)))
		fit.eighths--;
	width = decoded_divided(width * fit.eighths, EIGHTHS);
	height = decoded_divided(height * fit.eighths, EIGHTHS);
	while (!decoded_fits(decoded_divided(width, fit.box),
			     decoded_divided(height, fit.box)))
		fit.box++;
	return fit;
}

/* R G B and anything to R G B. The fourth byte is overwritten by the next pixel. */
static void decoded_pack(const uint8_t *from, unsigned width, uint8_t *to)
{
	for (; width > 1; width--, from += 4, to += 3)
		memcpy(to, from, 4);
	memcpy(to, from, 3);
}

/* A row of means of box x box pixels, of what there is of them at the edges. */
static void decoded_average(const uint8_t *const *rows, unsigned count, unsigned width,
			    unsigned box, uint8_t *to)
{
	for (unsigned x = 0; x < width; x += box) {
		unsigned end = width - x < box ? width : x + box;
		unsigned area = 0, sum[3] = {0};

		for (unsigned y = 0; y < count; y++)
			for (unsigned at = x; at < end; at++, area++)
				for (unsigned c = 0; c < 3; c++)
					sum[c] += rows[y][4 * at + c];
		for (int c = 0; c < 3; c++)
			*to++ = (uint8_t)((sum[c] + area / 2) / area);
	}
}

/* Decodes all rows of an image of these dimensions to `to`. */
static int decoded_decode(struct jpeg *jpeg, const struct jpeg_info *info, unsigned box,
			  uint8_t *to, struct error *err)
{
	const size_t stride = (size_t)3 * decoded_divided(info->width, box);
	const unsigned step = box > 1 ? box : ROWS;
	const uint8_t *row[ROWS];

	for (unsigned y = 0, count; y < info->height; y += count) {
		int result;

		count = info->height - y < step ? info->height - y : step;
		result = jpeg_rows(jpeg, count, row, err);
		if (result < 0)
			return result;
		if (box > 1) {
			decoded_average(row, count, info->width, box, to);
			to += stride;
			continue;
		}
		for (unsigned i = 0; i < count; i++, to += stride)
			decoded_pack(row[i], info->width, to);
	}
	return 0;
}

static int decoded_run(void *state, const struct prep_sample *sample, void *out,
		       struct error *err)
{
	struct jpeg *jpeg = state;
	struct canvas canvas = {.magic = CANVAS_MAGIC};
	struct jpeg_info info;
	struct fit reduced;
	size_t end;
	int result = jpeg_open(jpeg, sample->bytes, sample->size, &info, err);

	if (result < 0)
		return result;
	reduced = decoded_fit(info.width, info.height);
	jpeg_reduce(jpeg, reduced.eighths, &info);
	canvas.width = decoded_divided(info.width, reduced.box);
	canvas.height = decoded_divided(info.height, reduced.box);
	canvas.orientation = info.orientation;
	memcpy(out, &canvas, sizeof(canvas));
	result = jpeg_begin(jpeg, &(struct jpeg_region){0, 0, info.width, info.height},
			    err);
	if (result == 0)
		result = decoded_decode(jpeg, &info, reduced.box,
					(uint8_t *)out + CANVAS_HEADER, err);
	if (result == 0)
		result = jpeg_end(jpeg, err);
	end = CANVAS_HEADER + (size_t)3 * canvas.width * canvas.height;
	memset((uint8_t *)out + end, 0, CANVAS_BYTES - end);
	return result;
}

static struct prep_shape decoded_shape(const struct prep_config *config)
{
	(void)config;
	return prep_bytes_shape(CANVAS_BYTES);
}

static uint64_t decoded_pixels(const void *state)
{
	return jpeg_pixels(state);
}

const struct prep_op prep_decoded = {
	.name = "decoded",
	.shape = decoded_shape,
	.state_new = decoded_new,
	.state_free = decoded_free,
	.run = decoded_run,
	.pixels = decoded_pixels,
};
