/* pattern.c - the ten patterns as signed distances. */
#include "profiler/dataset/draw/pattern.h"

#include <math.h>
#include <stdio.h>

/* Alphabetic, so that labels counted here and by folder names are the same. */
static const char *const names[] = {"bricks",    "checks", "crosses", "dots",
				    "honeycomb", "rings",  "scales",  "stripes",
				    "triangles", "waves"};

enum { KINDS = sizeof(names) / sizeof(names[0]) };

void pattern_name(unsigned label, char name[PATTERN_NAME])
{
	unsigned kinds[2];

	if (pattern_kinds(label, kinds) == 1)
		snprintf(name, PATTERN_NAME, "%s", names[kinds[0]]);
	else
		snprintf(name, PATTERN_NAME, "%s-over-%s", names[kinds[0]],
			 names[kinds[1]]);
}

unsigned pattern_kinds(unsigned label, unsigned kinds[2])
{
	unsigned pair = label - KINDS;

	kinds[0] = label;
	if (label < KINDS)
		return 1;
	kinds[0] = pair / (KINDS - 1);
	kinds[1] = pair % (KINDS - 1);
	kinds[1] += kinds[1] >= kinds[0];
	return 2;
}

/* What <math.h> has too, but there it is a call, for the sake of NaN and old
 * machines. */
static float floor_of(float x)
{
	float whole = (float)(int32_t)x;

	return whole > x ? whole - 1 : whole;
}

static float pattern_least(float a, float b)
{
	return a < b ? a : b;
}

static float pattern_most(float a, float b)
{
	return a > b ? a : b;
}

/* Distance from the middle of the period that x lies in, 0 .. 0.5. */
static float off_middle(float x)
{
	return fabsf(x - floor_of(x) - 0.5f);
}

/* A cell of the plane that holds one figure, and where in it we are. */
struct cell {
	float x, y; /* from the figure's middle, turned with the figure */
};

static uint32_t cell_hash(float column, float row, uint32_t seed)
{
	uint32_t hash = seed + (uint32_t)(int32_t)column * 0x9e3779b1u +
			(uint32_t)(int32_t)row * 0x85ebca77u;

	hash = (hash ^ (hash >> 15)) * 0x2c1b3c6du;
	return hash ^ (hash >> 12);
}

static struct cell cell_at(float u, float v, uint32_t seed)
{
	float column = floor_of(u), row = floor_of(v);
	uint32_t hash = cell_hash(column, row, seed);
	float x = u - column - 0.44f - 0.12f * (float)(hash & 255) / 255;
	float y = v - row - 0.44f - 0.12f * (float)(hash >> 8 & 255) / 255;
	float slope = (float)(hash >> 16 & 255) / 255 - 0.5f;
	float norm = 1 / sqrtf(1 + slope * slope);

	return (struct cell){.x = (x + slope * y) * norm, .y = (y - slope * x) * norm};
}

static float pattern_bricks(float u, float v, float share, uint32_t seed)
{
	float row = floor_of(2 * v);
	float shift = 0.5f * (float)((int32_t)row & 1);
	float joint = 0.03f + 0.07f * share;
	float beside = 0.5f - off_middle(u + shift),
	      above = 0.25f - off_middle(2 * v) / 2;

	(void)seed;
	return joint - pattern_least(beside, above);
}

static float pattern_checks(float u, float v, float share, uint32_t seed)
{
	float x = 0.25f - off_middle(u), y = 0.25f - off_middle(v);
	float depth = pattern_least(fabsf(x), fabsf(y));

	(void)seed;
	return ((x > 0) == (y > 0) ? depth : -depth) + 0.1f * (share - 0.5f);
}

static float pattern_crosses(float u, float v, float share, uint32_t seed)
{
	struct cell at = cell_at(u, v, seed);
	float x = fabsf(at.x), y = fabsf(at.y);
	float arm = 0.36f, half = 0.06f + 0.06f * share;

	return pattern_most(pattern_least(arm - x, half - y),
			    pattern_least(half - x, arm - y));
}

static float pattern_dots(float u, float v, float share, uint32_t seed)
{
	struct cell at = cell_at(u, v, seed);

	return 0.22f + 0.15f * share - sqrtf(at.x * at.x + at.y * at.y);
}

/* Distance to the nearest wall between the points of a triangular lattice. */
static float pattern_honeycomb(float u, float v, float share, uint32_t seed)
{
	const float root = 1.7320508f;
	float near[2];

	(void)seed;
	for (int i = 0; i < 2; i++) {
		float x = u + 0.5f * (float)i, y = v / root + 0.5f * (float)i;

		x -= floor_of(x) + 0.5f;
		y = (y - floor_of(y) - 0.5f) * root;
		near[i] = pattern_most(fabsf(x), 0.5f * fabsf(x) + root / 2 * fabsf(y));
	}
	return 0.04f + 0.06f * share - (0.5f - pattern_least(near[0], near[1]));
}

static float pattern_rings(float u, float v, float share, uint32_t seed)
{
	struct cell at = cell_at(u, v, seed);
	float radius = sqrtf(at.x * at.x + at.y * at.y);

	return 0.05f + 0.04f * share - fabsf(radius - 0.32f);
}

/* Rows of half circles; where two of a row meet, the next row's has its top. */
static float pattern_scales(float u, float v, float share, uint32_t seed)
{
	float row = floor_of(2 * v);
	float x = u + 0.5f * (float)((int32_t)row & 1), y = v - row / 2;

	(void)seed;
	x -= floor_of(x) + 0.5f;
	return 0.04f + 0.05f * share - fabsf(sqrtf(x * x + y * y) - 0.5f);
}

static float pattern_stripes(float u, float v, float share, uint32_t seed)
{
	(void)v, (void)seed;
	return 0.15f + 0.2f * share - off_middle(u);
}

static float pattern_triangles(float u, float v, float share, uint32_t seed)
{
	struct cell at = cell_at(u, v, seed);
	float side = 0.866f * fabsf(at.x) + 0.5f * at.y;

	return 0.14f + 0.07f * share - pattern_most(side, -at.y);
}

static float pattern_waves(float u, float v, float share, uint32_t seed)
{
	float along = v * 0.7f;
	float bend = 1 - 4 * off_middle(along); /* a triangle wave, -1 .. 1 .. -1 */

	(void)seed;
	bend *= 1.5f - 0.5f * bend * bend; /* nearly a sine */
	return 0.13f + 0.17f * share - off_middle(u + 0.33f * bend);
}

float pattern_depth(unsigned kind, float u, float v, float share, uint32_t seed)
{
	static float (*const depth[KINDS])(float, float, float, uint32_t) = {
		pattern_bricks,    pattern_checks, pattern_crosses, pattern_dots,
		pattern_honeycomb, pattern_rings,  pattern_scales,  pattern_stripes,
		pattern_triangles, pattern_waves};

	return depth[kind](u, v, share, seed);
}
