/* plot_make.c - the plots of a report, from the numbers of a profile. */
#include "profiler/profile.h"
#include "reports/common/format.h"
#include "reports/plot/plot.h"

#include <errno.h>

/* A measured curve: its points, and whether their x is shown by its logarithm. */
struct curve {
	const struct profile_point *points;
	size_t count;
	bool log2_x;
};

static double curve_x(const struct curve *curve, size_t i)
{
	return curve->log2_x ? log2(curve->points[i].x) : curve->points[i].x;
}

/* Points without the emulated storage would dwarf the others: a table has them. */
static int add_points(struct plot_series *series, const struct curve *curve,
		      bool with_consumer)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < curve->count; i++) {
		const struct profile_point *point = &curve->points[i];
		const struct interval *rate = &point->per_s;

		if (point->with_consumer == with_consumer && !point->unthrottled)
			result = plot_point(series, curve_x(curve, i), rate->value,
					    rate->low, rate->high);
	}
	return result;
}

/* A tick under each x that was measured, or under some of them when there are many. */
static void tick_points(struct plot_axis *axis, const struct curve *curve)
{
	double every, last = -INFINITY;

	for (size_t i = 0; i < curve->count; i++)
		axis->high = fmax(axis->high, curve_x(curve, i));
	every = fmax(1, axis->high / (PLOT_TICKS - 2));
	for (size_t i = 0; i < curve->count; i++) {
		double x = curve_x(curve, i);
		char label[16];

		if (!isfinite(x) || x < last + every)
			continue;
		snprintf(label, sizeof(label), "%u", curve->points[i].x);
		plot_tick(axis, x, label);
		last = x;
	}
	axis->low = curve->log2_x ? -.4 : 0;
	axis->high += curve->log2_x ? .4 : .04 * axis->high + .3;
}

/* Adds what the training step could take, as a level to compare the curve with. */
static int plot_make_end_curve(const struct profile *profile, struct plot *plot)
{
	double rate = profile->rates[TRACE_SYNTHETIC].value;
	struct plot_series *level = plot_add(plot, "what the training step could take",
					     PLOT_LEVEL, PLOT_COMPUTE);

	if (plot_point(level, plot->x.low, rate, rate, rate) < 0 ||
	    plot_point(level, plot->x.high, rate, rate, rate) < 0)
		return -ENOMEM;
	plot_scale_y(plot, "");
	return 0;
}

int plot_prep_curve(const struct profile *profile, struct plot *plot)
{
	const struct curve curve = {profile->prep_curve, profile->prep_points, false};
	struct plot_series *alone =
		plot_add(plot, "preparation alone", PLOT_CURVE, PLOT_PREP);
	struct plot_series *beside =
		plot_add(plot, "beside the training step", PLOT_DASHED, PLOT_PREP);

	plot->id = "prep-curve";
	plot->title = "Preparation by workers";
	plot->about =
		"Samples per second that so many workers prepare from memory, alone "
		"and beside the training step, with 95% intervals.";
	plot->x_label = "workers";
	tick_points(&plot->x, &curve);
	if (add_points(alone, &curve, false) < 0 ||
	    add_points(beside, &curve, true) < 0)
		return -ENOMEM;
	return plot_make_end_curve(profile, plot);
}

int plot_fetch_curve(const struct profile *profile, struct plot *plot)
{
	const struct curve curve = {profile->fetch_curve, profile->fetch_points, true};
	struct plot_series *alone =
		plot_add(plot, "storage alone", PLOT_CURVE, PLOT_FETCH);

	plot->id = "fetch-curve";
	plot->title = "Storage by reads in flight";
	plot->about = "Samples per second that storage gives with so many reads in "
		      "flight, files unread and caches bypassed, with 95% intervals.";
	plot->x_label = "reads in flight";
	tick_points(&plot->x, &curve);
	if (add_points(alone, &curve, false) < 0)
		return -ENOMEM;
	return plot_make_end_curve(profile, plot);
}

/* The windows of one stage: those used are filled, the others hollow. */
static int plot_make_add_windows(const struct profile *profile, struct plot *plot,
				 int stage, bool used)
{
	const char *kind = profile_kinds[stage_table[stage].kind];
	struct plot_series *series = plot_add(plot, used ? kind : "not used",
					      PLOT_POINTS, stage_table[stage].ink);

	series->hollow = !used;
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];
		double middle = window->start_s + window->length_s / 2;

		if (window->kind.id == (int)stage_table[stage].kind &&
		    window->used == used &&
		    plot_point(series, middle, window->per_s, NAN, NAN) < 0)
			return -ENOMEM;
	}
	return 0;
}

int plot_windows(const struct profile *profile, struct plot *plot)
{
	plot->id = "windows";
	plot->title = "Every window over time";
	plot->about = "Samples per second of each window of the schedule. Levels that "
		      "stay level mean that nothing drifted.";
	plot->x_label = "seconds since the run began";
	for (int i = 0; i < STAGES; i++)
		if (profile_has_stage(profile, i) &&
		    (plot_make_add_windows(profile, plot, i, true) < 0 ||
		     plot_make_add_windows(profile, plot, i, false) < 0))
			return -ENOMEM;
	plot_scale_x(plot);
	plot_scale_y(plot, "");
	return 0;
}

/* Whole epochs, with room at both ends. */
static void tick_epochs(struct plot_axis *axis, const struct profile *profile)
{
	uint64_t last = 0, every;
	char label[FORMAT_SIZE];

	for (size_t i = 0; i < profile->epoch_count; i++)
		if (profile->epochs[i].epoch > last)
			last = profile->epochs[i].epoch;
	every = last / 8 + 1;
	for (uint64_t epoch = 0; epoch <= last && axis->count < PLOT_TICKS;
	     epoch += every)
		plot_tick(axis, (double)epoch, format_count(label, epoch));
	axis->low = -.04 * (double)last - .1;
	axis->high = 1.04 * (double)last + .1;
}

int plot_cache(const struct profile *profile, struct plot *plot)
{
	struct plot_series *hits = plot_add(plot, "hits", PLOT_CURVE, PLOT_FETCH);

	plot->id = "cache";
	plot->title = "Cache hits by epoch";
	plot->about = "Share of the samples that the cache had, in the real windows of "
		      "each epoch. The first epoch fills it.";
	plot->x_label = "epoch";
	if (!profile_has_own_cache(profile))
		return 0;
	for (size_t i = 0; i < profile->epoch_count; i++) {
		const struct profile_epoch *epoch = &profile->epochs[i];
		double seen = (double)epoch->hits + (double)epoch->misses;

		if (epoch->hits != UNKNOWN && epoch->misses != UNKNOWN && seen > 0 &&
		    plot_point(hits, (double)epoch->epoch,
			       100 * (double)epoch->hits / seen, NAN, NAN) < 0)
			return -ENOMEM;
	}
	tick_epochs(&plot->x, profile);
	plot_scale_y(plot, "%");
	return 0;
}

/* Bars of the buckets from the first to the last that counts something, in percent. */
static int plot_make_add_histogram(struct plot *plot,
				   const struct profile_histogram *histogram,
				   const char *(*format)(char *to, double value))
{
	struct plot_series *bars = &plot->series[0];
	size_t begin = 0, end = histogram->buckets, every;
	char label[FORMAT_SIZE];
	double all = 0;

	for (size_t i = 0; i < histogram->buckets; i++)
		all += (double)histogram->count[i];
	while (begin < end && histogram->count[begin] == 0)
		begin++;
	while (end > begin && histogram->count[end - 1] == 0)
		end--;
	for (size_t i = begin; i < end; i++)
		if (plot_point(bars, (double)i + .5,
			       100 * (double)histogram->count[i] / all, NAN, NAN) < 0)
			return -ENOMEM;
	plot->x.low = (double)begin - .5;
	plot->x.high = (double)end + .5;
	every = (end - begin) / 6 + 1;
	for (size_t i = begin; i <= end && begin < end; i += every)
		plot_tick(&plot->x, (double)i,
			  format(label, ldexp(histogram->low, (int)i)));
	plot_scale_y(plot, "%");
	return 0;
}

int plot_prep_times(const struct profile *profile, struct plot *plot)
{
	plot->id = "prep-times";
	plot->title = "Preparation time of a sample";
	plot->about = "How long decoding, cropping and normalising took: a histogram, "
		      "each bar spans twice the time of the one before.";
	plot->x_label = "time in a worker";
	plot_add(plot, "samples", PLOT_BARS, PLOT_PREP);
	return plot_make_add_histogram(plot, &profile->prep_s, format_seconds);
}

int plot_fetch_times(const struct profile *profile, struct plot *plot)
{
	plot->id = "fetch-times";
	plot->title = "Fetch time of a sample";
	plot->about = "How long opening and reading a sample that was not cached took: "
		      "a histogram, each bar spans twice the time of the one before.";
	plot->x_label = "time from start to bytes";
	plot_add(plot, "samples", PLOT_BARS, PLOT_FETCH);
	return plot_make_add_histogram(plot, &profile->fetch_s, format_seconds);
}

int plot_sizes(const struct profile *profile, struct plot *plot)
{
	plot->id = "sizes";
	plot->title = "Size of a sample";
	plot->about =
		"Encoded bytes of the samples that were loaded: a histogram, each "
		"bar spans twice the size of the one before.";
	plot->x_label = "encoded size";
	plot_add(plot, "samples", PLOT_BARS, PLOT_COMPUTE);
	return plot_make_add_histogram(plot, &profile->bytes, format_bytes);
}
