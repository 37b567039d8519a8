/* curves.c - the points of P(k) and S(q), the loaded rate and the overhead. */
#include "profiler/analysis/curves.h"
#include "profiler/analysis/statistics.h"

#include <errno.h>

enum { SIZED = 64 }; /* samples whose times tell what bytes cost, at the least */

/* Rates of the windows of one point, and what they counted together. */
struct point {
	double rates[TRACE_WINDOWS];
	size_t windows;
	double seconds, samples, bytes, cpu_s, reads, read_s;
};

static unsigned curves_place_of(const struct window *window)
{
	unsigned workers = window->trace->loader.workers;

	if (window->kind == TRACE_FETCH)
		return window_depth(window);
	if (window->workers > 0)
		return window->workers;
	return workers > 0 ? workers : 1; /* the program's own thread is one */
}

static double curves_counted(const struct window *window, enum trace_counter counter)
{
	return (double)window_counted(window->raw, counter);
}

/* Windows of one kind and, of fetch, with the emulated storage or without. */
struct curve {
	enum trace_kind kind;
	unsigned flags;
};

static bool of_curve(const struct window *window, const struct curve *curve)
{
	return window->kind == curve->kind && window->certified && !window->left_out &&
	       (window->flags & (TRACE_PAIRED | TRACE_WARMUP | TRACE_UNTHROTTLED)) ==
		       curve->flags;
}

/* In loaded windows it is what was prepared beside that makes the point. */
static double samples_of(const struct window *window)
{
	return window->kind == TRACE_LOADED
		       ? curves_counted(window, TRACE_prepared_samples)
		       : window->samples;
}

/* Sums over samples of their bytes, and of what they took to prepare. */
struct sizes {
	double n, x, y, xx, xy;
};

static void curves_add_sizes(const struct window *window, struct sizes *sizes)
{
	size_t count;
	const struct trace_sample *samples = window_samples(window, &count);

	for (size_t i = 0; i < count; i++) {
		double bytes = samples[i].bytes, ns = samples[i].prep_ns;

		if (!(bytes > 0) || !(ns > 0))
			continue;
		sizes->n++;
		sizes->x += bytes;
		sizes->y += ns;
		sizes->xx += bytes * bytes;
		sizes->xy += bytes * ns;
	}
}

/*
 * By how many per cent prep takes longer for a sample of one per cent more bytes: the slope
 * of a line through the samples that were recorded. 0: they are too few, or alike.
 */
static double curves_elasticity(const struct window *windows, size_t count)
{
	struct sizes all = {0};
	double slope;

	for (size_t i = 0; i < count; i++)
		curves_add_sizes(&windows[i], &all);
	slope = (all.xy - all.x * all.y / all.n) / (all.xx - all.x * all.x / all.n);
	slope *= all.x / all.y;
	return all.n >= SIZED && isfinite(slope) ? fmax(0, fmin(1, slope)) : 0;
}

/* A window of few samples has larger or smaller ones than the data set: what its rate
 * would be with those is the point's. */
static double curves_size_factor(const struct window *window, double elasticity)
{
	const struct trace_loader *loader = &window->trace->loader;
	double mean = (double)loader->dataset_bytes / (double)loader->dataset_samples;
	double factor = 1 + elasticity * window->covariate[WINDOW_PREPARED] /
				    (mean * (double)window->raw->samples);

	return window->kind == TRACE_PREP && isfinite(factor) ? factor : 1;
}

static void curves_gather(const struct window *windows, size_t count,
			  const struct curve *curve, unsigned x, double elasticity,
			  struct point *point)
{
	enum trace_counter cpu =
		curve->kind == TRACE_FETCH ? TRACE_fetch_cpu_ns : TRACE_prep_cpu_ns;

	*point = (struct point){.windows = 0};
	for (size_t i = 0; i < count && point->windows < TRACE_WINDOWS; i++) {
		const struct window *window = &windows[i];
		double samples;

		if (!of_curve(window, curve) || curves_place_of(window) != x)
			continue;
		samples = samples_of(window);
		point->rates[point->windows++] = samples / window->seconds *
						 curves_size_factor(window, elasticity);
		point->seconds += window->seconds;
		point->samples += samples;
		point->bytes += curves_counted(window, TRACE_fetched_bytes);
		point->cpu_s += curves_counted(window, cpu) * 1e-9;
		if (window->trace->loader.remote && curve->kind == TRACE_FETCH) {
			point->reads += curves_counted(window, TRACE_fetched_samples);
			point->read_s += curves_counted(window, TRACE_fetch_ns) * 1e-9;
		}
	}
}

static void fill_point(struct profile_point *out, const struct curve *curve, unsigned x,
		       const struct point *point)
{
	out->x = x;
	out->per_s = statistics_mean(point->rates, point->windows);
	if (point->bytes > 0)
		out->bytes_per_s = point->bytes / point->seconds;
	if (point->cpu_s > 0 && point->samples > 0)
		out->cpu_s_per_sample = point->cpu_s / point->samples;
	if (point->reads > 0 && point->read_s > 0)
		out->read_s = point->read_s / point->reads;
	out->with_consumer = curve->kind == TRACE_LOADED;
	out->unthrottled = (curve->flags & TRACE_UNTHROTTLED) != 0;
}

/* The smallest place of a kind's windows above `above`; 0: none. */
static unsigned next_place(const struct window *windows, size_t count,
			   const struct curve *curve, unsigned above)
{
	unsigned next = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned x =
			of_curve(&windows[i], curve) ? curves_place_of(&windows[i]) : 0;

		if (x > above && (next == 0 || x < next))
			next = x;
	}
	return next;
}

static int add_curve(const struct window *windows, size_t count,
		     const struct curve *curve, struct profile *profile)
{
	double elasticity = curves_elasticity(windows, count);
	struct point point;
	unsigned x = 0;

	while ((x = next_place(windows, count, curve, x)) > 0) {
		struct profile_point *out = curve->kind == TRACE_FETCH
						    ? profile_add_fetch_point(profile)
						    : profile_add_prep_point(profile);

		if (out == NULL)
			return -ENOMEM;
		curves_gather(windows, count, curve, x, elasticity, &point);
		fill_point(out, curve, x, &point);
	}
	return 0;
}

int curves_add(const struct window *windows, size_t count, struct profile *profile)
{
	static const struct curve curves[] = {{TRACE_PREP, 0},
					      {TRACE_LOADED, 0},
					      {TRACE_FETCH, 0},
					      {TRACE_FETCH, TRACE_UNTHROTTLED}};

	for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++)
		if (add_curve(windows, count, &curves[i], profile) < 0)
			return -ENOMEM;
	return 0;
}

struct interval curves_at(const struct profile_point *points, size_t count, unsigned x)
{
	for (size_t i = 0; i < count; i++)
		if (points[i].x == x && !points[i].with_consumer &&
		    !points[i].unthrottled)
			return points[i].per_s;
	return INTERVAL_UNKNOWN;
}

bool curves_is_loaded(const struct window *window)
{
	const struct curve loaded = {TRACE_LOADED, 0};

	return of_curve(window, &loaded);
}

double curves_loaded_seconds(const struct window *window)
{
	return window->trace->loader.kind == TRACE_TORCH
		       ? window->seconds - window->blocked_s
		       : window->seconds;
}

struct interval curves_loaded(const struct window *windows, size_t count)
{
	double rates[TRACE_WINDOWS];
	size_t used = 0;

	for (size_t i = 0; i < count && used < TRACE_WINDOWS; i++)
		if (curves_is_loaded(&windows[i]))
			rates[used++] =
				windows[i].samples / curves_loaded_seconds(&windows[i]);
	return statistics_mean(rates, used);
}

struct interval curves_overhead(const struct window *windows, size_t count)
{
	double shares[TRACE_WINDOWS];
	size_t used = 0;

	for (size_t i = 0; i < count && used < TRACE_WINDOWS; i++) {
		double bare = curves_counted(&windows[i], TRACE_bare_cpu_ns);
		double full = curves_counted(&windows[i], TRACE_full_cpu_ns);

		if (windows[i].certified && bare > 0 && full > 0)
			shares[used++] = (full - bare) / full;
	}
	return statistics_mean(shares, used);
}
