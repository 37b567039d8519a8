/*
 * photo.c - pictures: draws dimensions and file size, and encodes until the size fits.
 *
 * Most pictures are 4:3 or 3:2, half of them of one common width, the others larger or
 * smaller with their file. A mean of 110 KB gives about 500 x 375.
 */
#include "loader/base/random.h"
#include "profiler/dataset/draw/draw.h"
#include "profiler/dataset/draw/encoder.h"
#include "profiler/dataset/draw/pattern.h"
#include "profiler/dataset/draw/picture.h"
#include "profiler/dataset/draw/size_law.h"

#include <math.h>
#include <stdlib.h>

#define SIZE     110e3   /* a picture of this mean has PIXELS */
#define PIXELS   187500. /* 500 x 375 */
#define HEAD     620.    /* bytes of a JPEG before its pixels */
#define WIDEST   1.8     /* long side / short side */
#define MOST     60      /* levels of detail: more would hide the picture */
#define SHORTEST 16      /* side that is still drawn, pixels */

enum { TRIES = 4 }; /* encodings at the most to meet a size */

struct photo {
	struct draw_config config;
	struct encoder *encoder;
	struct picture *picture;
	uint8_t *rgb;
	unsigned longest; /* side there is memory for */
};

/* What is to be made: dimensions and file size. */
struct order {
	unsigned sides[2];
	double bytes;
};

static double draw_aspect(struct random *random)
{
	double which = random_unit(random);

	if (which < 0.5)
		return 4. / 3;
	if (which < 0.8)
		return 3. / 2;
	if (which < 0.85)
		return 1;
	return 1 + (WIDEST - 1) * random_unit(random);
}

/* Bits that a pixel takes at a quality, of those at 91: as measured, and between these on a
 * line. Below the first, pictures that large would need too much memory. */
static double photo_bits(int quality)
{
	static const struct {
		int quality;
		double bits;
	} measured[] = {{50, 0.385}, {70, 0.54}, {80, 0.685}, {91, 1},
			{95, 1.285}, {98, 1.73}, {100, 2.27}};
	size_t i = 1;

	if (quality < measured[0].quality)
		return measured[0].bits;
	while (measured[i].quality < quality)
		i++;
	return measured[i].bits -
	       (measured[i].bits - measured[i - 1].bits) *
		       (measured[i].quality - quality) /
		       (measured[i].quality - measured[i - 1].quality);
}

static double area_of(const struct draw_config *config, double bytes)
{
	double mean = config->size_mean;

	return PIXELS / (SIZE - HEAD) * (mean - HEAD) * pow(mean / SIZE, 0.06) *
	       pow(bytes / mean, 0.9) / photo_bits(config->quality);
}

static unsigned whole_side(double side)
{
	return side < SHORTEST ? SHORTEST : (unsigned)(side + 0.5);
}

static struct order photo_draw_order(const struct draw_config *config, uint32_t number,
				     struct random *random)
{
	double common = sqrt(area_of(config, config->size_mean) * 4 / 3);
	double bytes = size_law(config->size_mean, config->seed, number);
	double aspect = draw_aspect(random);
	double wide = sqrt(area_of(config, bytes) * aspect);
	unsigned upright = random_below(random, 4) == 0;
	struct order order = {.bytes = bytes};

	if (fabs(log(wide / common)) < 0.12)
		wide = common;
	order.sides[upright] = whole_side(wide);
	order.sides[!upright] = whole_side(wide / aspect);
	return order;
}

static void photo_close(void *state)
{
	struct photo *photo = state;

	if (photo == NULL)
		return;
	encoder_free(photo->encoder);
	picture_free(photo->picture);
	free(photo->rgb);
	free(photo);
}

static void *photo_open(const struct draw_config *config)
{
	struct photo *photo = calloc(1, sizeof(*photo));
	double most = size_law_most(config->size_mean);
	double area = area_of(config, most) * 1.3; /* 0.12 wider than asked, squared */

	if (photo == NULL)
		return NULL;
	photo->config = *config;
	photo->longest = whole_side(sqrt(area * WIDEST));
	photo->encoder = encoder_new();
	photo->picture = picture_new(photo->longest, photo->longest);
	photo->rgb = malloc((size_t)photo->longest * photo->longest * 3);
	if (photo->encoder == NULL || photo->picture == NULL || photo->rgb == NULL) {
		photo_close(photo);
		return NULL;
	}
	return photo;
}

/*
 * Develops with more or less detail until the file is within a twentieth of its size,
 * or TRIES are used up: the law of the sizes is what counts, not each one.
 */
static const uint8_t *photo_develop(struct photo *photo, const struct order *order,
				    size_t *size)
{
	double pixels = (double)order->sides[0] * order->sides[1];
	double bits = photo_bits(photo->config.quality);
	double detail = 0.8 * pow(8 * order->bytes / pixels / bits, 2.3);
	const uint8_t *bytes = NULL;

	for (int i = 0; i < TRIES; i++) {
		double off;

		picture_develop(photo->picture, (float)fmax(detail, 0), photo->rgb);
		bytes = encoder_run(photo->encoder, photo->rgb, order->sides, 1,
				    photo->config.quality, size);
		if (bytes == NULL)
			return NULL;
		off = order->bytes / (double)*size;
		if (fabs(off - 1) < 0.05)
			break;
		detail = fmin(fmax(detail, 0.5) * pow(off, 2.2), MOST);
	}
	return bytes;
}

static const uint8_t *photo_take(void *state, uint32_t number, size_t *size)
{
	struct photo *photo = state;
	uint64_t seed = random_seed(photo->config.seed, number, 1);
	struct random random = {.state = seed};
	struct order order = photo_draw_order(&photo->config, number, &random);

	picture_draw(photo->picture, order.sides[0], order.sides[1],
		     number % photo->config.classes, random_next(&random));
	return photo_develop(photo, &order, size);
}

const struct draw draw_photos = {
	.ending = "jpg",
	.name = pattern_name,
	.open = photo_open,
	.close = photo_close,
	.take = photo_take,
};
