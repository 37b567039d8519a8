/* plot_whatif.c - the plots of what would be, and of how right that was. */
#include "profiler/profile.h"
#include "reports/common/whatif_curve.h"
#include "reports/common/whatif_words.h"
#include "reports/plot/plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { GAINS = PLOT_LABELS / 2 }; /* rows, each with two labels */
enum { WIDEST = 36 };             /* characters for which a row has room */

static const double LARGEST = 1e6; /* gain that is still drawn */

/* The gain that decides on the place of a prediction; NAN: it has none to show. */
static double gain_of(const struct profile_prediction *prediction)
{
	const struct interval *speedup = &prediction->speedup;

	return isfinite(speedup->value) ? speedup->value
					: (speedup->low + speedup->high) / 2;
}

static int by_effect(const void *a, const void *b)
{
	double one = fabs(gain_of(*(const struct profile_prediction *const *)a) - 1);
	double two = fabs(gain_of(*(const struct profile_prediction *const *)b) - 1);

	return (two > one) - (two < one);
}

static int by_gain(const void *a, const void *b)
{
	double one = gain_of(*(const struct profile_prediction *const *)a);
	double two = gain_of(*(const struct profile_prediction *const *)b);

	return (two > one) - (two < one);
}

/* Those that change most, at most GAINS, the best first; to be freed. */
static const struct profile_prediction **
plot_whatif_choose(const struct profile *profile, size_t *count)
{
	const struct profile_prediction **chosen =
		calloc(profile->prediction_count + 1, sizeof(const void *));

	*count = 0;
	if (chosen == NULL)
		return NULL;
	for (size_t i = 0; i < profile->prediction_count; i++)
		if (fabs(gain_of(&profile->predictions[i])) < LARGEST)
			chosen[(*count)++] = &profile->predictions[i];
	qsort(chosen, *count, sizeof(const void *), by_effect);
	if (*count > GAINS)
		*count = GAINS;
	qsort(chosen, *count, sizeof(const void *), by_gain);
	return chosen;
}

/* Its bar in the row y, in the series that it belongs to. */
static int add_gain(struct plot *plot, const struct profile_prediction *prediction,
		    double y)
{
	enum { FASTER, SLOWER, BOUNDS };
	const struct interval *speedup = &prediction->speedup;
	int which = !isfinite(speedup->value) ? BOUNDS
		    : speedup->value < 1      ? SLOWER
					      : FASTER;
	double x = gain_of(prediction);
	bool bounded = fabs(speedup->low) < LARGEST && fabs(speedup->high) < LARGEST;

	return plot_point(&plot->series[which], x, y, bounded ? speedup->low : x,
			  bounded ? speedup->high : x);
}

static void scale_gains(struct plot *plot)
{
	double low = 1, high = 1;

	for (size_t i = 0; i < plot->count; i++)
		for (size_t at = 0; at < plot->series[i].count; at++) {
			const struct plot_point *point = &plot->series[i].points[at];

			low = fmin(low, fmin(point->x, point->low));
			high = fmax(high, fmax(point->x, point->high));
		}
	plot_scale(&plot->x, low, high, "×");
	plot->y.low = 0;
	plot->y.high = plot->rows;
}

static void label_gain(struct plot *plot, const struct profile_prediction *prediction,
		       double y)
{
	char words[WHATIF_WORDS], gain[WHATIF_SPEED];

	whatif_change_words(words, &prediction->change);
	if (strlen(words) > WIDEST)
		memcpy(words + WIDEST - 3, "...", 4);
	plot_label(plot, plot->x.low, y, false, words);
	plot_label(plot, plot->x.high, y, true,
		   whatif_gain(gain, &prediction->speedup));
}

int plot_gains(const struct profile *profile, struct plot *plot)
{
	size_t count;
	const struct profile_prediction **chosen = plot_whatif_choose(profile, &count);
	int result = chosen == NULL ? -ENOMEM : 0;

	plot->id = "gains";
	plot->title = "What each change would bring";
	plot->about = "Predicted speed of training after each change, as a factor of "
		      "today's, with 95% intervals, from the best to the worst.";
	plot->x_label = "speed, as a factor of the run's";
	plot_add(plot, "faster", PLOT_GAIN, PLOT_COMPUTE);
	plot_add(plot, "slower", PLOT_GAIN, PLOT_PREP);
	plot_add(plot, "only bounds are known", PLOT_RANGE, PLOT_FETCH);
	plot->rows = (int)count;
	for (size_t i = 0; result == 0 && i < count; i++)
		result = add_gain(plot, chosen[i], (double)(count - i) - .5);
	scale_gains(plot);
	for (size_t i = 0; i < count; i++)
		label_gain(plot, chosen[i], (double)(count - i) - .24);
	free(chosen);
	return result;
}

/* What a curve runs along: one member of a change, and where the run itself is. */
struct along {
	double (*at)(const struct profile_change *change,
		     const struct profile_word *policy);
	const struct profile_word *policy;
	double own; /* NAN: nowhere */
};

/* NAN unless the change is in the cores alone. */
static double at_cores(const struct profile_change *change,
		       const struct profile_word *policy)
{
	struct profile_change alone = PROFILE_NO_CHANGE;

	(void)policy;
	alone.cores = change->cores;
	return change->cores > 0 && profile_change_equal(change, &alone) ? change->cores
									 : NAN;
}

/* Percent; NAN unless the change is in the cache's size alone, and maybe its policy. */
static double at_share(const struct profile_change *change,
		       const struct profile_word *policy)
{
	struct profile_change alone = PROFILE_NO_CHANGE;

	alone.cache_share = change->cache_share;
	alone.cache_policy = change->cache_policy;
	if (!profile_change_equal(change, &alone) ||
	    (profile_word_known(&change->cache_policy) &&
	     !profile_word_equal(&change->cache_policy, policy)))
		return NAN;
	return 100 * change->cache_share;
}

/* The band of intervals, the line in it, and the area where only bounds are known. */
static int add_predicted(struct plot *plot, const struct profile *curve,
			 const struct along *along)
{
	struct plot_series *band =
		plot_add(plot, "its 95% interval", PLOT_BAND, PLOT_FETCH);
	struct plot_series *bounds =
		plot_add(plot, "only bounds are known", PLOT_BAND, PLOT_FETCH);
	struct plot_series *line = plot_add(plot, "predicted", PLOT_LINE, PLOT_FETCH);
	int result = 0;

	bounds->hollow = true;
	for (size_t i = 0; result == 0 && i < curve->prediction_count; i++) {
		const struct interval *rate = &curve->predictions[i].per_s;
		double x = along->at(&curve->predictions[i].change, along->policy);
		bool known = isfinite(rate->value);
		double y = known ? rate->value : rate->low;

		if (known)
			result = plot_point(line, x, y, y, y);
		if (result == 0)
			result = plot_point(known ? band : bounds, x, y, rate->low,
					    rate->high);
	}
	return result;
}

/* What was really run, on top of what is predicted. */
static int add_measured(struct plot *plot, const struct profile *profile,
			const struct along *along)
{
	struct plot_series *measured =
		plot_add(plot, "measured", PLOT_ERRORS, PLOT_PREP);
	struct plot_series *own = plot_add(plot, "this run", PLOT_ERRORS, PLOT_COMPUTE);
	const struct interval *rate = profile->job_count > 1
					      ? &profile->together
					      : &profile->rates[TRACE_REAL];
	int result = 0;

	for (size_t i = 0; result == 0 && i < profile->verification_count; i++) {
		const struct profile_verification *one = &profile->verifications[i];
		double x = along->at(&one->change, along->policy);

		if (x <= plot->x.high)
			result = plot_point(measured, x, one->measured.value,
					    one->measured.low, one->measured.high);
	}
	if (result == 0)
		result =
			plot_point(own, along->own, rate->value, rate->low, rate->high);
	return result;
}

int plot_cores(const struct profile *profile, const struct whatif_curves *curves,
	       struct plot *plot)
{
	const struct along along = {
		at_cores, NULL,
		profile->cores <= WHATIF_MOST_CORES ? (double)profile->cores : NAN};

	plot->id = "cores";
	plot->title = "Speed over cores";
	plot->about = "Predicted samples per second with so many cores, all else as it "
		      "was, with 95% intervals; dots: measured.";
	plot->x_label = "cores";
	if (add_predicted(plot, &curves->cores, &along) < 0)
		return -ENOMEM;
	plot_scale_x(plot);
	if (add_measured(plot, profile, &along) < 0)
		return -ENOMEM;
	plot_scale_y(plot, "");
	return 0;
}

/* Percent, of the run's own cache; NAN: it is the kernel's, and nobody knows. */
static double own_share(const struct profile *profile)
{
	if (profile->cache.id == CACHE_NONE)
		return 0;
	return profile->cache_share > 1 ? 100 : 100 * profile->cache_share;
}

int plot_shares(const struct profile *profile, const struct whatif_curves *curves,
		struct plot *plot)
{
	const struct along along = {at_share, &curves->policy, own_share(profile)};

	plot->id = "shares";
	plot->title = "Speed over the size of the cache";
	plot->about =
		"Predicted samples per second with a cache of so much of the data set, "
		"all else as it was, with 95% intervals; dots: measured.";
	plot->x_label = curves->policy.id == CACHE_MINIO
				? "minio cache, % of the data set"
				: "cache, % of the data set";
	plot_scale(&plot->x, 0, 100, "");
	if (add_predicted(plot, &curves->cache, &along) < 0 ||
	    add_measured(plot, profile, &along) < 0)
		return -ENOMEM;
	plot_scale_y(plot, "");
	return 0;
}

/* The diagonal, where predictions are right. */
static int add_diagonal(struct plot *plot)
{
	struct plot_series *right =
		plot_add(plot, "as predicted", PLOT_LEVEL, PLOT_AXIS);
	double high = plot->x.high;

	return plot_point(right, 0, 0, 0, 0) < 0 ||
			       plot_point(right, high, high, high, high) < 0
		       ? -ENOMEM
		       : 0;
}

int plot_verifications(const struct profile *profile, struct plot *plot)
{
	struct plot_series *held =
		plot_add(plot, "measured inside the interval", PLOT_ERRORS, PLOT_FETCH);
	struct plot_series *missed =
		plot_add(plot, "measured outside of it", PLOT_ERRORS, PLOT_PREP);
	double high = 0;

	plot->id = "verifications";
	plot->title = "Predicted against measured";
	plot->about = "Samples per second of changes that were really run: predicted, "
		      "with 95% intervals, over measured. On the dotted line both are "
		      "the same.";
	plot->x_label = "measured, samples/s";
	for (size_t i = 0; i < profile->verification_count; i++) {
		const struct profile_verification *one = &profile->verifications[i];
		const struct interval *rate = &one->predicted;
		struct plot_series *series = one->covered == 0 ? missed : held;
		size_t before = series->count;

		if (profile_rate_is_vague(one->measured))
			continue;
		if (plot_point(series, one->measured.value, rate->value, rate->low,
			       rate->high) < 0)
			return -ENOMEM;
		if (series->count > before)
			high = fmax(high, fmax(one->measured.value,
					       series->points[before].high));
	}
	plot_scale(&plot->x, 0, high, "");
	plot_scale(&plot->y, 0, high, "");
	return add_diagonal(plot);
}
