/* crop.c - draws random crops, and centres those of validation. */
#include "loader/prep/crop.h"
#include "loader/base/random.h"
#include "loader/prep.h"

#include <math.h>

enum { TRIES = 10 };

struct box {
	unsigned left, top, width, height;
};

static double crop_uniform(struct random *random, double low, double high)
{
	return low + (high - low) * random_unit(random);
}

static bool draw_box(const struct prep_config *config, struct random *random,
		     unsigned width, unsigned height, struct box *box)
{
	double area = (double)width * height;

	for (int i = 0; i < TRIES; i++) {
		double target =
			area * crop_uniform(random, config->scale[0], config->scale[1]);
		double aspect = exp(crop_uniform(random, log(config->ratio[0]),
						 log(config->ratio[1])));
		double w = rint(sqrt(target * aspect));
		double h = rint(sqrt(target / aspect));

		if (w < 1 || w > width || h < 1 || h > height)
			continue;
		box->width = (unsigned)w;
		box->height = (unsigned)h;
		box->top = random_below(random, height - box->height + 1);
		box->left = random_below(random, width - box->width + 1);
		return true;
	}
	return false;
}

static unsigned crop_rounded(double length)
{
	return length < 1 ? 1 : (unsigned)rint(length);
}

/* The largest box of an allowed aspect, in the middle. */
static struct box central_box(const struct prep_config *config, unsigned width,
			      unsigned height)
{
	double aspect = (double)width / height;
	struct box box = {.width = width, .height = height};

	if (aspect < config->ratio[0])
		box.height = crop_rounded(width / config->ratio[0]);
	else if (aspect > config->ratio[1])
		box.width = crop_rounded(height * config->ratio[1]);
	box.left = (width - box.width) / 2;
	box.top = (height - box.height) / 2;
	return box;
}

static struct span crop_part(unsigned first, unsigned length, unsigned size)
{
	return (struct span){
		.first = first, .length = length, .outputs = size, .count = size};
}

static struct crop crop_train(const struct prep_config *config, unsigned width,
			      unsigned height, uint64_t seed)
{
	struct random random = {.state = seed};
	struct crop crop = {0};
	struct box box;

	if (!draw_box(config, &random, width, height, &box))
		box = central_box(config, width, height);
	crop.x = crop_part(box.left, box.width, config->size);
	crop.y = crop_part(box.top, box.height, config->size);
	crop.x.mirrored = random_unit(&random) < config->flip;
	return crop;
}

static struct span crop_centre(unsigned length, unsigned outputs, unsigned size)
{
	return (struct span){
		.length = length,
		.outputs = outputs,
		.skip = (unsigned)rint((outputs - size) / 2.),
		.count = size,
	};
}

static struct crop crop_evaluate(const struct prep_config *config, unsigned width,
				 unsigned height)
{
	unsigned shorter = width < height ? width : height;
	uint64_t resize = config->resize;

	return (struct crop){
		.x = crop_centre(width, (unsigned)(resize * width / shorter),
				 config->size),
		.y = crop_centre(height, (unsigned)(resize * height / shorter),
				 config->size),
	};
}

/* The same pixels, counted from the other end of an axis `image` pixels long. */
static void crop_mirror(struct span *span, unsigned image)
{
	span->first = image - span->first - span->length;
	span->skip = span->outputs - span->skip - span->count;
	span->mirrored = !span->mirrored;
}

/* From the upright frame to the stored one; exif.h has the table. */
static void crop_turn(struct crop *crop, unsigned width, unsigned height,
		      unsigned orientation)
{
	if (orientation >= 5) {
		struct span x = crop->x;

		crop->transposed = true;
		crop->x = crop->y;
		crop->y = x;
	}
	if (orientation == 2 || orientation == 3 || orientation >= 7)
		crop_mirror(&crop->x, width);
	if (orientation == 3 || orientation == 4 || orientation == 6 ||
	    orientation == 7)
		crop_mirror(&crop->y, height);
}

struct crop crop_draw(const struct prep_config *config, unsigned width, unsigned height,
		      unsigned orientation, uint64_t seed)
{
	bool lies = orientation >= 5;
	unsigned w = lies ? height : width, h = lies ? width : height;
	struct crop crop = config->evaluate ? crop_evaluate(config, w, h)
					    : crop_train(config, w, h, seed);

	crop_turn(&crop, width, height, orientation);
	return crop;
}
