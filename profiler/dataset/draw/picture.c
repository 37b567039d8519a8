/* picture.c - noise fields, surface and light. */
#include "profiler/dataset/draw/picture.h"
#include "loader/base/random.h"
#include "profiler/dataset/draw/pattern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct picture {
	unsigned width, height;
	float *base;             /* width x height x RGB, 0..255 */
	float *detail;           /* width x height, standard deviation about 1 */
	float *mottle, *bend[2]; /* noise, width x height each */
	float *spare;            /* what a noise field is built in */
	float *memory;
};

/* How the surface lies and is painted. */
struct surface {
	unsigned kinds[2], count;
	float zoom[2];    /* periods a pixel, of each kind */
	float turn[2][2]; /* cosine and sine, of each kind */
	float shift[2], slant[2], share, bend;
	float soft;         /* width of an edge in pixels */
	float colour[4][3]; /* ground, ground mottled, figure, figure mottled */
	float light[2], light_level;
	uint32_t seed;
};

/* A noise field of (width + 2) x (height + 2) is the most that is built at once. */
static size_t field_size(unsigned width, unsigned height)
{
	return (size_t)(width + 2) * (height + 2);
}

struct picture *picture_new(unsigned width, unsigned height)
{
	struct picture *picture = malloc(sizeof(*picture));
	size_t field = field_size(width, height);
	float *memory = picture != NULL ? malloc(8 * field * sizeof(float)) : NULL;

	if (memory == NULL) {
		free(picture);
		return NULL;
	}
	*picture = (struct picture){.memory = memory,
				    .base = memory,
				    .detail = memory + 3 * field,
				    .mottle = memory + 4 * field,
				    .bend = {memory + 5 * field, memory + 6 * field},
				    .spare = memory + 7 * field};
	return picture;
}

void picture_free(struct picture *picture)
{
	if (picture == NULL)
		return;
	free(picture->memory);
	free(picture);
}

/* fminf() and fmaxf() would be calls. */
static float picture_clamp(float value, float low, float high)
{
	return value < low ? low : value > high ? high : value;
}

static float picture_between(struct random *random, float low, float high)
{
	return low + (high - low) * (float)random_unit(random);
}

/* Adds noise in -amplitude .. amplitude: four numbers out of one draw. */
static void picture_add_noise(float *field, size_t count, float amplitude,
			      struct random *random)
{
	const float scale = amplitude / 32768;

	for (size_t i = 0; i < count; i += 4) {
		uint64_t bits = random_next(random);

		for (size_t j = i; j < i + 4 && j < count; j++, bits >>= 16)
			field[j] += scale * ((float)(bits & 0xffff) - 32767.5f);
	}
}

/* Twice the resolution, linearly. Sizes are (side >> level) + 2, which just suffices.
 */
static void picture_enlarge(const float *from, size_t stride, float *to, size_t columns,
			    size_t rows)
{
	for (size_t y = 0; y < rows; y++) {
		const float *above = from + y / 2 * stride;
		const float *below = y % 2 ? above + stride : above;
		float *out = to + y * columns;

		for (size_t x = 0; x < columns; x++) {
			size_t left = x / 2, right = left + x % 2;

			out[x] = (above[left] + above[right] + below[left] +
				  below[right]) /
				 4;
		}
	}
}

/*
 * Fills a field of width + 2 columns with noise: from the coarsest octave, octaves[0],
 * down to octaves[1] (octave o has features of 2^o pixels), each `fall` times as strong
 * as the one before: 1/2 is the 1/f of natural scenes, 1 is white.
 */
static void fill_noise(struct picture *picture, float *field, const int octaves[2],
		       float fall, struct random *random)
{
	float *now = octaves[0] % 2 ? picture->spare : field;
	float *next = octaves[0] % 2 ? field : picture->spare;
	float amplitude = 1;
	size_t stride = 0;

	for (int level = octaves[0]; level >= 0; level--) {
		size_t columns = (picture->width >> level) + 2;
		size_t rows = (picture->height >> level) + 2;
		float *swap = now;

		if (stride == 0)
			memset(now, 0, columns * rows * sizeof(float));
		else
			picture_enlarge(next, stride, now, columns, rows);
		if (level >= octaves[1])
			picture_add_noise(now, columns * rows, amplitude, random);
		amplitude *= fall;
		stride = columns;
		now = next;
		next = swap;
	}
}

static float picture_luma(const float colour[3])
{
	return 0.299f * colour[0] + 0.587f * colour[1] + 0.114f * colour[2];
}

static void draw_colour(float colour[3], struct random *random)
{
	float level = picture_between(random, 20, 235),
	      spread = picture_between(random, 10, 90);

	for (int c = 0; c < 3; c++)
		colour[c] = picture_clamp(
			level + picture_between(random, -spread, spread), 0, 255);
}

/* Figure and ground differ enough to be told apart in the dark; either is brighter. */
static void draw_colours(struct surface *surface, struct random *random)
{
	do {
		draw_colour(surface->colour[0], random);
		draw_colour(surface->colour[2], random);
	} while (fabsf(picture_luma(surface->colour[0]) -
		       picture_luma(surface->colour[2])) < 60);
	for (int i = 0; i < 4; i += 2)
		for (int c = 0; c < 3; c++)
			surface->colour[i + 1][c] = surface->colour[i][c] +
						    picture_between(random, -25, 25);
}

static void draw_turn(float turn[2], struct random *random)
{
	float angle = picture_between(random, 0, 6.2831853f);

	turn[0] = cosf(angle);
	turn[1] = sinf(angle);
}

static void draw_surface(struct surface *surface, float side, struct random *random)
{
	/* A period is a ninth to a quarter of the short side, evenly on a log scale;
	 * the pattern below another one is coarser. */
	float period = side / 9 * powf(375 / side, 0.25f) *
		       powf(2.25f, (float)random_unit(random));

	for (int i = 0; i < 2; i++) {
		surface->zoom[i] = 1 / period;
		draw_turn(surface->turn[i], random);
		surface->shift[i] = picture_between(random, 0, 64);
		surface->slant[i] = picture_between(random, -0.35f, 0.35f) / side;
		surface->light[i] = picture_between(random, -0.45f, 0.45f) / side;
		period *= 2;
	}
	surface->share = (float)random_unit(random);
	surface->bend = picture_between(random, 0.05f, 0.22f);
	surface->soft = picture_between(random, 0.8f, 2.5f) * fmaxf(side / 375, 0.6f);
	surface->light_level = picture_between(random, 0.75f, 1.15f);
	surface->seed = (uint32_t)random_next(random);
	draw_colours(surface, random);
}

/* How much of the pixel is figure, 0 .. 1. */
static float picture_coverage(const struct surface *surface, unsigned i, float x,
			      float y, const float bend[2])
{
	float zoom = surface->zoom[i];
	const float *turn = surface->turn[i];
	float near = 1 + surface->slant[0] * x + surface->slant[1] * y;
	float u = (turn[0] * x - turn[1] * y) * near * zoom, v, depth;

	v = (turn[1] * x + turn[0] * y) * near * zoom;
	u += surface->shift[0] + surface->bend * bend[0];
	v += surface->shift[1] + surface->bend * bend[1];
	depth = pattern_depth(surface->kinds[i], u, v, surface->share, surface->seed);
	depth = depth / (zoom * surface->soft * near) + 0.5f;
	return picture_clamp(depth, 0, 1);
}

static void picture_paint(const struct picture *picture, const struct surface *surface,
			  float x, float y, size_t at, float *rgb)
{
	const float bend[2] = {picture->bend[0][at], picture->bend[1][at]};
	float mottle = picture->mottle[at];
	float figure = picture_coverage(surface, 0, x, y, bend);
	float light =
		surface->light_level + surface->light[0] * x + surface->light[1] * y;

	light += 0.10f * bend[0] + 0.06f * mottle;
	if (surface->count == 2)
		light *= 1 - 0.45f * picture_coverage(surface, 1, x, y, bend);
	for (int c = 0; c < 3; c++) {
		const float(*colour)[3] = surface->colour;
		float ground = colour[0][c] + mottle * (colour[1][c] - colour[0][c]);
		float drawn = colour[2][c] + mottle * (colour[3][c] - colour[2][c]);

		rgb[c] = light * (ground + figure * (drawn - ground));
	}
}

/* Detail is strong in some places and weak in others, as in a photograph. */
static void draw_detail(struct picture *picture, struct random *random)
{
	const int fine[2] = {2, 0};
	size_t count = field_size(picture->width, picture->height);

	fill_noise(picture, picture->detail, fine, 1, random);
	for (size_t i = 0; i < count; i++)
		picture->detail[i] *= fmaxf(1 + 0.6f * picture->mottle[i], 0.1f);
}

void picture_draw(struct picture *picture, unsigned width, unsigned height,
		  unsigned label, uint64_t seed)
{
	struct random random = {.state = seed};
	float side = (float)(width < height ? width : height);
	/* up to the highest whose features still fit into the picture a few times */
	const int all[2] = {(int)fmaxf(log2f(side / 3), 1), 0};
	const int smooth[2] = {all[0], all[0] - 2};
	struct surface surface;

	picture->width = width;
	picture->height = height;
	surface.count = pattern_kinds(label, surface.kinds);
	draw_surface(&surface, side, &random);
	fill_noise(picture, picture->mottle, all, 0.6f, &random);
	fill_noise(picture, picture->bend[0], smooth, 0.5f, &random);
	fill_noise(picture, picture->bend[1], smooth, 0.5f, &random);
	draw_detail(picture, &random);
	for (unsigned y = 0; y < height; y++)
		for (unsigned x = 0; x < width; x++) {
			size_t at = (size_t)y * (width + 2) + x;
			size_t pixel = (size_t)y * width + x;

			picture_paint(picture, &surface, (float)x - (float)width / 2,
				      (float)y - (float)height / 2, at,
				      picture->base + 3 * pixel);
		}
}

static uint8_t whole_level(float value)
{
	return (uint8_t)(picture_clamp(value, 0, 255) + 0.5f);
}

void picture_develop(const struct picture *picture, float detail, uint8_t *rgb)
{
	const float *base = picture->base;

	for (unsigned y = 0; y < picture->height; y++) {
		const float *row = picture->detail + (size_t)y * (picture->width + 2);

		for (unsigned x = 0; x < picture->width; x++, base += 3, rgb += 3)
			for (int c = 0; c < 3; c++)
				rgb[c] = whole_level(base[c] + detail * row[x]);
	}
}
