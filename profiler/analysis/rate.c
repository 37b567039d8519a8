/* rate.c - the rate of real windows and its interval. */
#include "profiler/analysis/rate.h"
#include "profiler/analysis/shares.h"
#include "profiler/analysis/statistics.h"
#include "profiler/session/disturbance.h"
#include "profiler/session/epoch_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Windows that count, one a block: sums of them and of all others. */
struct blocks {
	double seconds[TRACE_WINDOWS], samples[TRACE_WINDOWS];
	double hit[TRACE_WINDOWS]; /* asked of drawn ones */
	size_t count;
	struct epoch_parts parts; /* of these */
	bool drawn, whole;
	double all_seconds, all_samples;
	double hits, looked; /* samples in the loader's cache, and looked for */
	double read,
		fetched; /* bytes from storage, NAN: unknown; asked of the kernel */
};

static void rate_add(struct blocks *blocks, const struct window *window)
{
	uint64_t read = window_read_bytes(window->raw);
	bool drawn = (window->flags & TRACE_DRAW) != 0;
	double weight = drawn ? epoch_parts_weight(&blocks->parts, window->part) : 1;
	double scale = drawn ? weight / window->samples : 1;

	blocks->seconds[blocks->count] = scale * window->seconds;
	blocks->samples[blocks->count] = scale * window->samples;
	blocks->hit[blocks->count++] = window->hit;
	blocks->all_seconds += scale * window->seconds;
	blocks->all_samples += scale * window->samples;
	blocks->drawn |= drawn;
	blocks->whole |= (window->flags & TRACE_EPOCH) != 0;
	scale = drawn ? weight / (double)window->raw->samples : 1;
	blocks->hits += scale * (double)window_counted(window->raw, TRACE_hit_samples);
	blocks->looked += scale * (double)window->raw->samples;
	blocks->fetched += (double)window_counted(window->raw, TRACE_fetched_bytes);
	blocks->read += read == UINT64_MAX ? NAN : (double)read;
}

static struct interval rate_of(const struct blocks *blocks)
{
	double without[TRACE_WINDOWS];
	struct placed placed[TRACE_WINDOWS];
	double full = blocks->all_samples / blocks->all_seconds;
	/* Whole epochs follow one another without settling. */
	double floor = blocks->whole ? 0 : full * SHARES_SETTLE;

	for (size_t i = 0; i < blocks->count; i++) {
		without[i] = (blocks->all_samples - blocks->samples[i]) /
			     (blocks->all_seconds - blocks->seconds[i]);
		placed[i] = (struct placed){blocks->hit[i],
					    blocks->samples[i] / blocks->all_samples,
					    without[i]};
	}
	if (epoch_parts_whole(&blocks->parts))
		return statistics_ordered(full, placed, blocks->count, floor);
	return statistics_jackknife(full, without, blocks->count, floor);
}

/* Of whole epochs through the kernel's cache: what did not come from storage. */
static double hit_ratio(const struct trace_loader *loader, const struct blocks *blocks)
{
	bool page = strcmp(loader->cache, "page") == 0;

	/* what a program's own has in memory is not counted, nor what a shared one has */
	if (loader->kind != TRACE_LIBDSA || loader->shared != 0)
		return NAN;
	if (loader->cache_capacity > 0 || blocks->drawn)
		return blocks->hits / blocks->looked;
	if (!page || !blocks->whole || loader->memory || blocks->fetched <= 0)
		return NAN;
	return isnan(blocks->read) ? NAN : fmax(0, 1 - blocks->read / blocks->fetched);
}

static void rate_write_how(const struct trace_loader *loader,
			   const struct blocks *blocks, struct measure_rate *rate)
{
	double epochs = blocks->all_samples / (double)loader->dataset_samples;

	if (blocks->whole)
		snprintf(rate->why, sizeof(rate->why),
			 "%.0f whole epoch%s in %zu window%s", epochs,
			 epochs < 1.5 ? "" : "s", blocks->count,
			 blocks->count == 1 ? "" : "s");
	else
		snprintf(rate->why, sizeof(rate->why), "%zu window%s%s", blocks->count,
			 blocks->count == 1 ? "" : "s",
			 blocks->drawn ? ", hits drawn" : "");
}

static bool rate_counts(const struct window *window)
{
	return window->kind == TRACE_REAL && shares_uses(window);
}

int rate_measure(const struct trace *trace, struct measure_rate *rate)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));
	size_t count;
	struct window *windows =
		blocks == NULL ? NULL : disturbance_windows(trace, &count);

	*rate = (struct measure_rate){.per_s = INTERVAL_UNKNOWN, .hit_ratio = NAN};
	if (windows == NULL) {
		free(blocks);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		if (rate_counts(&windows[i]) && (windows[i].flags & TRACE_DRAW))
			blocks->parts.count[windows[i].part]++;
	for (size_t i = 0; i < count; i++)
		if (rate_counts(&windows[i]))
			rate_add(blocks, &windows[i]);
	rate->windows = (unsigned)blocks->count;
	if (blocks->count > 0) {
		rate->per_s = statistics_within(rate_of(blocks), 0, INFINITY);
		rate->hit_ratio = hit_ratio(&trace->loader, blocks);
		rate_write_how(&trace->loader, blocks, rate);
	}
	free(windows);
	free(blocks);
	return 0;
}
