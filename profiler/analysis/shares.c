/* shares.c - sums windows into blocks and takes differences of stages. */
#include "profiler/analysis/shares.h"
#include "profiler/analysis/control.h"
#include "profiler/analysis/statistics.h"
#include "profiler/session/epoch_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the spread of blocks does not show, besides SHARES_SETTLE: */
#define FLOOR_EDGE_S 100e-6 /* two wake-ups, timer slack each, at a window's ends; */
#define FLOOR_STEP_S 200e-9 /* two readings of the clock in a step. */

#define ALIKE      .9 /* of the time of real windows: cached ones prepare about as much */
#define OWN_CHANCE 2. /* standard errors that CPU times are apart */

struct block {
	double seconds[STAGES], samples[STAGES];
	double covariate[STAGES][WINDOW_COVARIATES];
	double hit; /* of its real window, when drawn, */
	unsigned part;
	bool drawn;
	double weight;
	bool no_list; /* its batches can't be given again: there are no cached windows */
};

bool shares_uses(const struct window *window)
{
	return window->certified && !window->left_out && window->block >= 0 &&
	       stage_of_kind(window->kind) < STAGES &&
	       (window->flags & TRACE_WARMUP) == 0;
}

static void shares_add_window(struct block *block, const struct window *window)
{
	enum stage stage = stage_of_kind(window->kind);

	block->seconds[stage] += window->seconds;
	block->samples[stage] += window->samples;
	for (int i = 0; i < WINDOW_COVARIATES; i++)
		block->covariate[stage][i] += window->covariate[i];
	block->no_list = window->no_list;
	if (stage == STAGE_REAL && (window->flags & TRACE_DRAW)) {
		block->drawn = true;
		block->hit = window->hit;
		block->part = window->part;
	}
}

/* True when a stage may have no windows. */
static bool shares_may_lack(const struct block *all, int stage)
{
	return stage_table[stage].optional || (all->no_list && stage == STAGE_PREP);
}

/* True when it has windows of each stage; of one that may lack them if there are any. */
static bool shares_complete(const struct block *block, const struct block *all)
{
	for (int i = 0; i < STAGES; i++)
		if (block->samples[i] <= 0 &&
		    (!shares_may_lack(all, i) || all->samples[i] > 0))
			return false;
	return true;
}

/* Positions of the epoch weigh alike, however many samples a window got through. */
static void shares_weigh_alike(struct block *block)
{
	if (!block->drawn)
		return;
	block->seconds[STAGE_REAL] /= block->samples[STAGE_REAL];
	for (int i = 0; i < WINDOW_COVARIATES; i++)
		block->covariate[STAGE_REAL][i] /= block->samples[STAGE_REAL];
	block->samples[STAGE_REAL] = 1;
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

		if (!shares_complete(&block, &all))
			continue;
		shares_weigh_alike(&block);
		blocks[used++] = block;
	}
	if (used == 0)
		blocks[0] = all;
	return used;
}

/* Sums over blocks, of each stage. */
struct sums {
	struct control stage[STAGES];
	int control[STAGES]; /* what of their samples is taken out of its times */
	bool whole;          /* the blocks stand for all parts of an epoch */
};

static void sums_add(struct sums *sums, const struct block *block, double times)
{
	times *= block->weight;
	for (int i = 0; i < STAGES; i++)
		if (block->samples[i] > 0)
			control_add(&sums->stage[i], block->seconds[i],
				    block->samples[i], block->covariate[i], times);
}

/* The machine has no speed that were known but that of these windows. */
static void sums_expect(struct sums *sums)
{
	struct control *cached = &sums->stage[STAGE_PREP];
	struct control *real = &sums->stage[STAGE_REAL];

	cached->expected[WINDOW_OWN_CPU] = real->expected[WINDOW_OWN_CPU] =
		(cached->covariate[WINDOW_OWN_CPU] + real->covariate[WINDOW_OWN_CPU]) /
		(cached->samples + real->samples);
}

/* True where the program's own work was the same in cached and real windows, as far as
 * they show. */
static bool sums_own_is_alike(const struct sums *sums)
{
	const struct control *cached = &sums->stage[STAGE_PREP];
	const struct control *real = &sums->stage[STAGE_REAL];

	return control_time(cached, -1) >= ALIKE * control_time(real, -1) &&
	       control_apart(cached, real, WINDOW_OWN_CPU) < OWN_CHANCE;
}

/* Chooses what is taken out of each stage's times. */
static void sums_choose(struct sums *sums)
{
	bool alike = sums_own_is_alike(sums);

	sums_expect(sums);
	for (int i = 0; i < STAGES; i++) {
		struct control *stage = &sums->stage[i];

		if ((i != STAGE_PREP && i != STAGE_REAL) || !alike)
			stage->expected[WINDOW_OWN_CPU] = NAN;
		sums->control[i] = control_choose(stage);
	}
}

/* True when the blocks stand for all parts of an epoch, which weigh alike, too. */
static bool shares_weigh_parts(struct block *blocks, size_t count)
{
	struct epoch_parts parts = {0};

	for (size_t i = 0; i < count; i++)
		parts.count[blocks[i].part] += blocks[i].drawn;
	for (size_t i = 0; i < count; i++)
		blocks[i].weight = blocks[i].drawn
					   ? epoch_parts_weight(&parts, blocks[i].part)
					   : 1;
	return epoch_parts_whole(&parts);
}

static void sums_make(struct block *blocks, size_t count, struct sums *sums)
{
	*sums = (struct sums){.whole = shares_weigh_parts(blocks, count)};
	for (size_t i = 0; i < count; i++)
		sums_add(sums, &blocks[i], 1);
	sums_choose(sums);
}

/* Seconds per sample of each stage's windows, over all blocks but one, or over all. */
static void times_without(const struct sums *sums, const struct block *without,
			  double times[STAGES])
{
	struct sums rest = *sums;

	if (without != NULL)
		sums_add(&rest, without, -1);
	sums_expect(&rest);
	for (int i = 0; i < STAGES; i++)
		times[i] = control_time(&rest.stage[i], rest.control[i]);
}

/* The first STAGES figures are shares, then rates. */
static double shares_figure(const double times[STAGES], int which)
{
	double shares[STAGES];

	if (which >= STAGES)
		return 1 / times[which - STAGES];
	stage_split(times, shares);
	return shares[which];
}

static struct interval shares_estimate(const struct block *blocks, size_t count,
				       const struct sums *sums, int which, double floor)
{
	double without[TRACE_WINDOWS], times[STAGES], full;
	struct placed placed[TRACE_WINDOWS];

	times_without(sums, NULL, times);
	full = shares_figure(times, which);
	if (isnan(full))
		return INTERVAL_UNKNOWN;
	for (size_t i = 0; count > 1 && i < count; i++) {
		times_without(sums, &blocks[i], times);
		without[i] = shares_figure(times, which);
		placed[i] = (struct placed){
			blocks[i].hit, blocks[i].weight / (double)count, without[i]};
	}
	if (sums->whole)
		return statistics_ordered(full, placed, count, floor);
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

/* Mean over the windows that count, in which disturbed ones may be. */
static double shares_disturbance(const struct window *windows, size_t count)
{
	double sum = 0, used = 0;

	for (size_t i = 0; i < count; i++)
		if (shares_uses(&windows[i])) {
			sum += windows[i].disturbance;
			used++;
		}
	return sum / used;
}

/* Time of the windows of each stage. */
static void shares_seconds(const struct window *windows, size_t count,
			   double seconds[STAGES])
{
	for (size_t i = 0; i < count; i++)
		if (shares_uses(&windows[i]))
			seconds[stage_of_kind(windows[i].kind)] += windows[i].seconds;
}

/* What the squares of the shares' errors add up to by the scatter of one stage alone. */
static double shares_scatter(const struct block *blocks, size_t count,
			     const struct sums *sums, enum stage stage)
{
	double full[STAGES], times[STAGES], shares[STAGES], one[STAGES], squares = 0;

	times_without(sums, NULL, full);
	stage_split(full, shares);
	for (size_t i = 0; i < count; i++) {
		times_without(sums, &blocks[i], times);
		full[stage] = times[stage];
		stage_split(full, one);
		for (int j = 0; j < STAGES; j++)
			if (!isnan(one[j]))
				squares += (one[j] - shares[j]) * (one[j] - shares[j]);
	}
	return squares;
}

/*
 * Where windows scatter twice as far, four times their number makes as little of it; so
 * the time of each stage goes by the root of its scatter times the time that it had
 * (Neyman 1934; Cochran, Sampling Techniques, 5.5).
 */
static void shares_allocate(struct shares *shares, const struct block *blocks,
			    size_t count, const struct sums *sums,
			    const double seconds[STAGES])
{
	double sum = 0;

	for (int i = 0; i < STAGES; i++) {
		shares->allocation[i] =
			count < 2
				? NAN
				: sqrt(seconds[i] * shares_scatter(blocks, count, sums,
								   (enum stage)i));
		sum += shares->allocation[i];
	}
	for (int i = 0; i < STAGES; i++)
		shares->allocation[i] /= sum;
}

static void shares_fill(struct shares *shares, struct block *blocks, size_t count,
			const double seconds[STAGES])
{
	double floor = shares->floor, times[STAGES];
	struct sums sums;

	sums_make(blocks, count, &sums);
	times_without(&sums, NULL, times);
	if (sums.control[STAGE_REAL] != WINDOW_OWN_CPU)
		shares->corrected =
			times[STAGE_REAL] / control_time(&sums.stage[STAGE_REAL], -1) -
			1;
	for (int i = 0; i < STAGES; i++) {
		shares->stalls[i] = shares_estimate(blocks, count, &sums, i,
						    floor + shares->disturbance);
		shares->rates[i] = shares_estimate(blocks, count, &sums, STAGES + i,
						   floor / times[i]);
	}
	shares_allocate(shares, blocks, count, &sums, seconds);
}

int shares_measure(const struct window *windows, size_t count, struct shares *shares)
{
	struct block *blocks = malloc(TRACE_WINDOWS * sizeof(*blocks));
	double window_s, seconds[STAGES] = {0};

	*shares = (struct shares){.step_s = NAN, .floor = NAN, .disturbance = NAN};
	for (int i = 0; i < STAGES; i++) {
		shares->stalls[i] = shares->rates[i] = INTERVAL_UNKNOWN;
		shares->allocation[i] = NAN;
	}
	if (blocks == NULL)
		return -ENOMEM;
	shares->blocks = (unsigned)make_blocks(windows, count, blocks);
	if (shares_complete(&blocks[0], &blocks[0])) {
		real_lengths(windows, count, &window_s, &shares->step_s);
		shares->floor = SHARES_SETTLE + FLOOR_EDGE_S / window_s +
				FLOOR_STEP_S / shares->step_s;
		shares->disturbance = shares_disturbance(windows, count);
		shares_seconds(windows, count, seconds);
		shares_fill(shares, blocks, shares->blocks > 0 ? shares->blocks : 1,
			    seconds);
	}
	free(blocks);
	return 0;
}

double shares_half(const struct shares *shares)
{
	double half = NAN;

	for (int i = 0; i < STAGES; i++)
		half = fmax(half, interval_half(shares->stalls[i]));
	return shares->blocks < 2 ? INFINITY : half;
}
