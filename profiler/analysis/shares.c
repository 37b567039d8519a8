#include "profiler/analysis/shares.h"
#include "profiler/analysis/statistics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REAL, CACHED, SYNTHETIC, KINDS };

/* What can't be seen in the spread of blocks, beside SHARES_SETTLE: */
#define FLOOR_EDGE_S 100e-6 /* two wake-ups, timer slack each, at a window's ends; */
#define FLOOR_STEP_S 200e-9 /* two readings of the clock in a step. */

struct block {
	double seconds[KINDS], samples[KINDS];
	double hit; /* of its real window, when drawn */
	bool drawn;
};

static int shares_kind_of(const struct window *window)
{
	switch (window->kind) {
	case TRACE_REAL:
		return REAL;
	case TRACE_CACHED:
		return CACHED;
	case TRACE_SYNTHETIC:
		return SYNTHETIC;
	default:
		return -1;
	}
}

bool shares_uses(const struct window *window)
{
	return window->certified && window->block >= 0 && shares_kind_of(window) >= 0 &&
	       (window->flags & TRACE_WARMUP) == 0;
}

static void shares_add_window(struct block *block, const struct window *window)
{
	int kind = shares_kind_of(window);

	block->seconds[kind] += window->seconds;
	block->samples[kind] += window->samples;
	if (kind == REAL && (window->flags & TRACE_DRAW)) {
		block->drawn = true;
		block->hit = window->hit;
	}
}

static bool shares_complete(const struct block *block)
{
	for (int kind = 0; kind < KINDS; kind++)
		if (block->samples[kind] <= 0)
			return false;
	return true;
}

/* Positions of the epoch weigh alike, however many samples a window got through. */
static void shares_weigh_alike(struct block *block)
{
	if (!block->drawn)
		return;
	block->seconds[REAL] /= block->samples[REAL];
	block->samples[REAL] = 1;
}

/*
 * Sorts the windows into blocks and returns how many are complete, moved to the front.
 * With none, all windows together make blocks[0], which may be incomplete.
 */
static size_t make_blocks(const struct window *windows, size_t count,
			  struct block blocks[TRACE_WINDOWS])
{
	struct block all = {0};
	size_t used = 0;

	memset(blocks, 0, TRACE_WINDOWS * sizeof(*blocks));
	for (size_t i = 0; i < count; i++) {
		if (!shares_uses(&windows[i]))
			continue;
		shares_add_window(&blocks[windows[i].block], &windows[i]);
		shares_add_window(&all, &windows[i]);
	}
	for (size_t i = 0; i < TRACE_WINDOWS; i++) {
		struct block block = blocks[i];

		if (!shares_complete(&block))
			continue;
		shares_weigh_alike(&block);
		blocks[used++] = block;
	}
	if (used == 0)
		blocks[0] = all;
	return used;
}

/* Seconds per sample of each kind over all blocks but one. */
static void times_without(const struct block *blocks, size_t count, size_t without,
			  double times[KINDS])
{
	for (int kind = 0; kind < KINDS; kind++) {
		double seconds = 0, samples = 0;

		for (size_t i = 0; i < count; i++) {
			if (i == without)
				continue;
			seconds += blocks[i].seconds[kind];
			samples += blocks[i].samples[kind];
		}
		times[kind] = seconds / samples;
	}
}

enum { COMPUTE, PREP, FETCH, REAL_RATE, CACHED_RATE, SYNTHETIC_RATE, FIGURES };

static double shares_figure(const double times[KINDS], int which)
{
	switch (which) {
	case COMPUTE:
		return times[SYNTHETIC] / times[REAL];
	case PREP:
		return (times[CACHED] - times[SYNTHETIC]) / times[REAL];
	case FETCH:
		return (times[REAL] - times[CACHED]) / times[REAL];
	case REAL_RATE:
		return 1 / times[REAL];
	case CACHED_RATE:
		return 1 / times[CACHED];
	default:
		return 1 / times[SYNTHETIC];
	}
}

static struct interval shares_estimate(const struct block *blocks, size_t count,
				       int which, double floor)
{
	double without[TRACE_WINDOWS], place[TRACE_WINDOWS], times[KINDS], full;
	bool drawn = false;

	times_without(blocks, count, SIZE_MAX, times);
	full = shares_figure(times, which);
	for (size_t i = 0; count > 1 && i < count; i++) {
		times_without(blocks, count, i, times);
		without[i] = shares_figure(times, which);
		place[i] = blocks[i].hit;
		drawn |= blocks[i].drawn;
	}
	if (drawn)
		return statistics_ordered(full, without, place, count, floor);
	return statistics_jackknife(full, without, count, floor);
}

/* Mean wall time of the real windows, and of their steps. */
static void real_lengths(const struct window *windows, size_t count, double *window_s,
			 double *step_s)
{
	double seconds = 0, steps = 0, number = 0;

	for (size_t i = 0; i < count; i++) {
		if (!shares_uses(&windows[i]) || windows[i].kind != TRACE_REAL)
			continue;
		seconds += windows[i].seconds;
		steps += windows[i].steps;
		number++;
	}
	*window_s = seconds / number;
	*step_s = seconds / steps;
}

static void shares_fill(struct shares *shares, const struct block *blocks, size_t count)
{
	double floor = shares->floor, times[KINDS];

	times_without(blocks, count, SIZE_MAX, times);
	shares->compute = shares_estimate(blocks, count, COMPUTE, floor);
	shares->prep = shares_estimate(blocks, count, PREP, floor);
	shares->fetch = shares_estimate(blocks, count, FETCH, floor);
	shares->real = shares_estimate(blocks, count, REAL_RATE, floor / times[REAL]);
	shares->cached =
		shares_estimate(blocks, count, CACHED_RATE, floor / times[CACHED]);
	shares->synthetic = shares_estimate(blocks, count, SYNTHETIC_RATE,
					    floor / times[SYNTHETIC]);
}

int shares_measure(const struct window *windows, size_t count, struct shares *shares)
{
	struct block *blocks = malloc(TRACE_WINDOWS * sizeof(*blocks));
	double window_s;

	*shares = (struct shares){
		.compute = INTERVAL_UNKNOWN,
		.prep = INTERVAL_UNKNOWN,
		.fetch = INTERVAL_UNKNOWN,
		.real = INTERVAL_UNKNOWN,
		.cached = INTERVAL_UNKNOWN,
		.synthetic = INTERVAL_UNKNOWN,
		.step_s = NAN,
		.floor = NAN,
	};
	if (blocks == NULL)
		return -ENOMEM;
	shares->blocks = (unsigned)make_blocks(windows, count, blocks);
	if (shares_complete(&blocks[0])) {
		real_lengths(windows, count, &window_s, &shares->step_s);
		shares->floor = SHARES_SETTLE + FLOOR_EDGE_S / window_s +
				FLOOR_STEP_S / shares->step_s;
		shares_fill(shares, blocks, shares->blocks > 0 ? shares->blocks : 1);
	}
	free(blocks);
	return 0;
}

double shares_half(const struct shares *shares)
{
	double half = fmax(
		fmax(statistics_half(shares->compute), statistics_half(shares->prep)),
		statistics_half(shares->fetch));

	return shares->blocks < 2 ? INFINITY : half;
}
