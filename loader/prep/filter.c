/* filter.c - computes the weights of the resampling filter. */
#include "loader/filter.h"

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

static unsigned filter_widest(const struct triangle *t, const struct span *span)
{
	unsigned taps = 1;

	for (unsigned i = 0; i < span->count; i++) {
		struct window window = window_of(t, span->skip + i);

		if (window.end - window.begin > taps)
			taps = window.end - window.begin;
	}
	return taps;
}

/* The triangle's heights over `taps` pixels from start on, summing to 1. */
static void filter_weigh(const struct triangle *t, const struct window *window,
			 unsigned start, float *weight, unsigned taps)
{
	double steep = 1 / t->support, from = (start + .5 - window->centre) * steep;
	float sum = 0, share;

	for (unsigned k = 0; k < taps; k++) {
		float height = (float)(1 - fabs(from + k * steep));

		weight[k] = height > 0 ? height : 0;
		sum += weight[k];
	}
	share = 1 / sum;
	for (unsigned k = 0; k < taps; k++)
		weight[k] *= share;
}

int filter_init(struct filter *filter, const struct span *span, struct scratch *scratch)
{
	double scale = (double)span->length / span->outputs;
	const struct triangle t = {.scale = scale,
				   .support = scale < 1 ? 1 : scale,
				   .length = span->length};
	unsigned begin = window_of(&t, span->skip).begin;
	unsigned end = window_of(&t, span->skip + span->count - 1).end;
	unsigned taps = filter_widest(&t, span);
	size_t room = (size_t)span->count + 3;
	uint32_t *start = scratch_get(scratch, room * sizeof(*start) +
						       room * taps * sizeof(float));
	float *weight;

	if (start == NULL)
		return -ENOMEM;
	weight = (void *)(start + room);
	for (unsigned i = 0; i < room; i++) {
		unsigned output = i < span->count ? i : span->count - 1;
		unsigned at = span->mirrored ? span->count - 1 - output : output;
		struct window window = window_of(&t, span->skip + at);
		/* Every row of the table has all taps: near the end it starts early. */
		unsigned from = window.begin < end - taps ? window.begin : end - taps;

		start[i] = from - begin;
		filter_weigh(&t, &window, from, weight + (size_t)i * taps, taps);
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
