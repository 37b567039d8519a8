#include "loader/prep/filter.h"
#include "loader/prep/crop.h"

#include <errno.h>
#include <math.h>

struct triangle {
	double scale;   /* source pixels to an output */
	double support; /* half its width, in source pixels */
	unsigned length;
};

/* The pixels that resampled pixel i reads: [begin, end). */
struct window {
	double centre;
	unsigned begin, end;
};

static struct window window_of(const struct triangle *t, unsigned i)
{
	double centre = (i + .5) * t->scale;
	double begin = centre - t->support + .5, end = centre + t->support + .5;

	return (struct window){
		.centre = centre,
		.begin = begin < 0 ? 0 : (unsigned)begin,
		.end = end > t->length ? t->length : (unsigned)end,
	};
}

static unsigned widest(const struct triangle *t, const struct span *span)
{
	unsigned taps = 1;

	for (unsigned i = 0; i < span->count; i++) {
		struct window window = window_of(t, span->skip + i);

		if (window.end - window.begin > taps)
			taps = window.end - window.begin;
	}
	return taps;
}

static double height_at(const struct triangle *t, double centre, unsigned pixel)
{
	double distance = fabs(pixel + .5 - centre) / t->support;

	return distance < 1 ? 1 - distance : 0;
}

static void weigh(const struct triangle *t, const struct window *window, unsigned start,
		  float *weight, unsigned taps)
{
	double sum = 0;

	for (unsigned p = window->begin; p < window->end; p++)
		sum += height_at(t, window->centre, p);
	for (unsigned k = 0; k < taps; k++) {
		unsigned p = start + k;
		bool inside = p >= window->begin && p < window->end;

		weight[k] = inside ? (float)(height_at(t, window->centre, p) / sum) : 0;
	}
}

int filter_init(struct filter *filter, const struct span *span, struct scratch *scratch)
{
	double scale = (double)span->length / span->outputs;
	const struct triangle t = {.scale = scale,
				   .support = scale < 1 ? 1 : scale,
				   .length = span->length};
	unsigned begin = window_of(&t, span->skip).begin;
	unsigned end = window_of(&t, span->skip + span->count - 1).end;
	unsigned taps = widest(&t, span);
	uint32_t *start = scratch_get(scratch, span->count * sizeof(*start) +
						       (size_t)span->count * taps *
							       sizeof(float));
	float *weight;

	if (start == NULL)
		return -ENOMEM;
	weight = (void *)(start + span->count);
	for (unsigned i = 0; i < span->count; i++) {
		unsigned at = span->mirrored ? span->count - 1 - i : i;
		struct window window = window_of(&t, span->skip + at);
		/* Every row of the table has all taps: near the end it starts early. */
		unsigned from = window.begin < end - taps ? window.begin : end - taps;

		start[i] = from - begin;
		weigh(&t, &window, from, weight + (size_t)i * taps, taps);
	}
	*filter = (struct filter){
		.first = span->first + begin,
		.length = end - begin,
		.outputs = span->count,
		.taps = taps,
		.start = start,
		.weight = weight,
	};
	return 0;
}
