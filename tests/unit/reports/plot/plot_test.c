#include "loader/base/error.h"
#include "profiler/profile_prediction.h"
#include "reports/common/whatif_curve.h"
#include "reports/json/json.h"
#include "reports/plot/plot.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static plot_maker *const makers[] = {
	plot_prep_curve, plot_fetch_curve, plot_windows,
	plot_cache,      plot_prep_times,  plot_fetch_times,
	plot_sizes,      plot_gains,       plot_verifications};
enum { MAKERS = sizeof(makers) / sizeof(makers[0]) };

static struct profile kept;

static int load(void **state)
{
	(void)state;
	return json_result_load("tests/data/run-whatif.json", &kept, NULL);
}

static int unload(void **state)
{
	(void)state;
	profile_free(&kept);
	return 0;
}

static size_t occurrences(const char *text, const char *what)
{
	size_t count = 0;

	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		count++;
	return count;
}

static char *by_hand(const struct plot *plot)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	plot_by_hand(plot, out);
	fclose(out);
	return text;
}

TEST(every_point_is_within_the_axes)
{
	for (size_t i = 0; i < MAKERS; i++) {
		struct plot plot = {0};

		assert_int_equal(makers[i](&kept, &plot), 0);
		assert_true(plot_has_points(&plot));
		assert_true(plot.y.low == 0 && plot.x.low < plot.x.high);
		for (size_t at = 0; at < plot.count; at++)
			for (size_t n = 0; n < plot.series[at].count; n++) {
				const struct plot_point *point =
					&plot.series[at].points[n];

				assert_in_range((int64_t)point->y, 0,
						(int64_t)plot.y.high);
				assert_true(point->x >= plot.x.low &&
					    point->x <= plot.x.high);
			}
		for (size_t at = 1; at < plot.y.count; at++)
			assert_true(plot.y.ticks[at].at > plot.y.ticks[at - 1].at);
		plot_free(&plot);
	}
}

TEST(ticks_are_round)
{
	static const struct {
		double most, high;
		const char *second;
	} cases[] = {{1912, 2000, "500"},
		     {3840, 4000, "1000"},
		     {.37, .4, "0.1"},
		     {100, 100, "50"},
		     {0, 1, "0.5"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plot plot = {0};
		struct plot_series *series = plot_add(&plot, "", PLOT_CURVE, PLOT_PREP);

		assert_int_equal(plot_point(series, 1, cases[i].most, NAN, NAN), 0);
		plot_scale_y(&plot, "");
		assert_true(fabs(plot.y.high - cases[i].high) < 1e-9);
		assert_string_equal(plot.y.ticks[1].label, cases[i].second);
		plot_free(&plot);
	}
}

TEST(a_histogram_shows_only_what_was_counted)
{
	struct profile profile;
	struct plot plot = {0};
	static const uint64_t counts[] = {0, 0, 1, 0, 3, 0};

	profile_init(&profile);
	profile.prep_s.low = .001;
	profile.prep_s.buckets = 6;
	profile.prep_s.count = calloc(6, sizeof(*profile.prep_s.count));
	memcpy(profile.prep_s.count, counts, sizeof(counts));
	assert_int_equal(plot_prep_times(&profile, &plot), 0);
	assert_int_equal(plot.series[0].count, 3);
	assert_true(plot.series[0].points[0].y == 25);
	assert_true(plot.series[0].points[2].y == 75);
	assert_string_equal(plot.x.ticks[0].label, "4 ms");
	plot_free(&plot);
	profile_free(&profile);
}

TEST(what_cannot_be_drawn_is_left_out)
{
	struct plot plot = {0};
	struct plot_series *series = plot_add(&plot, "", PLOT_POINTS, PLOT_PREP);

	assert_int_equal(plot_point(series, 1, NAN, 0, 0), 0);
	assert_int_equal(plot_point(series, INFINITY, 1, 0, 0), 0);
	assert_int_equal(plot_point(series, 1, 1e300, 0, 0), 0);
	assert_false(plot_has_points(&plot));
	assert_int_equal(plot_point(series, 1, 2, NAN, INFINITY), 0);
	assert_true(series->points[0].low == 2 && series->points[0].high == 2);
	plot_free(&plot);
}

TEST(the_kernels_cache_has_no_hits_to_show)
{
	struct profile profile = kept;
	struct plot plot = {0};

	profile.cache.id = CACHE_PAGE;
	assert_int_equal(plot_cache(&profile, &plot), 0);
	assert_false(plot_has_points(&plot));
	plot_free(&plot);
}

TEST(a_scale_may_begin_anywhere)
{
	struct plot_axis axis = {0};

	plot_scale(&axis, .93, 1.95, "×");
	assert_true(axis.low == .5 && axis.high == 2);
	assert_int_equal(axis.count, 4);
	assert_string_equal(axis.ticks[1].label, "1×");
}

static void add_gain(struct profile *profile, double low, double value, double high)
{
	struct profile_prediction *prediction = profile_add_prediction(profile);

	prediction->change.cores = (unsigned)profile->prediction_count;
	prediction->speedup = (struct interval){value, low, high};
}

/* Best first, losses and bounds apart, and what has no number not at all. */
TEST(gains_stand_in_their_order)
{
	struct profile profile;
	struct plot plot = {0};
	char *text;

	profile_init(&profile);
	add_gain(&profile, .5, .6, .7);
	add_gain(&profile, 1, NAN, 1.9);
	add_gain(&profile, 1.9, 2, 2.1);
	profile.predictions[2].change.workers = 128;
	profile.predictions[2].change.batch = 4096;
	profile.predictions[2].change.gpu_speed = 2;
	add_gain(&profile, NAN, NAN, NAN);
	add_gain(&profile, 1e299, 1e300, 1e301);
	assert_int_equal(plot_gains(&profile, &plot), 0);
	assert_int_equal(plot.rows, 3);
	assert_int_equal(plot.series[0].count, 1);
	assert_true(plot.series[0].points[0].y == 2.5);
	assert_true(plot.series[0].points[0].low == 1.9);
	assert_true(plot.series[1].points[0].y == .5);
	assert_true(plot.series[2].points[0].y == 1.5);
	assert_int_equal(plot.label_count, 6);
	assert_string_equal(plot.labels[0].text,
			    "3 cores, 128 workers, accelerator...");
	assert_string_equal(plot.labels[5].text, "0.60× (0.50 to 0.70)");
	text = by_hand(&plot);
	assert_int_equal(occurrences(text, "stroke-dasharray=\"3 2\""), 1);
	free(text);
	plot_free(&plot);
	profile_free(&profile);
}

/* More than there is room for: those that change least are left out. */
TEST(the_largest_gains_are_shown)
{
	struct profile profile;
	struct plot plot = {0};

	profile_init(&profile);
	for (int i = 0; i < 40; i++)
		add_gain(&profile, NAN, 1 + i / 100., NAN);
	assert_int_equal(plot_gains(&profile, &plot), 0);
	assert_int_equal(plot.rows, 12);
	assert_int_equal(plot.series[0].count, 12);
	assert_true(fabs(plot.series[0].points[0].x - 1.39) < 1e-9);
	plot_free(&plot);
	profile_free(&profile);
}

TEST(the_diagonal_is_where_predictions_are_right)
{
	struct plot plot = {0};
	const struct plot_series *line = &plot.series[2];

	assert_int_equal(plot_verifications(&kept, &plot), 0);
	assert_int_equal(plot.series[0].count + plot.series[1].count, 5);
	assert_int_equal(plot.series[1].count, 1);
	assert_true(plot.x.high == plot.y.high);
	assert_true(line->points[1].x == line->points[1].y);
	plot_free(&plot);
}

TEST(what_was_measured_too_roughly_is_no_point)
{
	struct interval *measured = &kept.verifications[0].measured, was = *measured;
	struct plot plot = {0};

	measured->low = 0;
	assert_int_equal(plot_verifications(&kept, &plot), 0);
	assert_int_equal(plot.series[0].count + plot.series[1].count, 4);
	*measured = was;
	plot_free(&plot);
}

static const struct plot_series *series_of(const struct plot *plot, const char *name)
{
	for (size_t i = 0; i < plot->count; i++)
		if (strcmp(plot->series[i].name, name) == 0)
			return &plot->series[i];
	fail_msg("no series '%s'", name);
	return NULL;
}

/* Cores from 1 to 8 for a run of 4; changes of more than one thing are not on it. */
TEST(curves_run_through_the_run_itself)
{
	struct whatif_curves curves;
	struct plot cores = {0}, shares = {0};
	const struct plot_point *own;

	assert_int_equal(whatif_curves_make(&kept, &curves), 0);
	assert_int_equal(curves.cores.prediction_count, 8);
	assert_int_equal(curves.cache.prediction_count, 11);
	assert_int_equal(plot_cores(&kept, &curves, &cores), 0);
	assert_int_equal(series_of(&cores, "predicted")->count, 8);
	assert_int_equal(series_of(&cores, "measured")->count, 2);
	own = series_of(&cores, "this run")->points;
	assert_true(own->x == 4 && own->y == kept.rates[TRACE_REAL].value);
	assert_int_equal(plot_shares(&kept, &curves, &shares), 0);
	assert_int_equal(series_of(&shares, "predicted")->count, 11);
	assert_int_equal(series_of(&shares, "measured")->count, 2);
	assert_true(series_of(&shares, "this run")->points->x == 35);
	plot_free(&cores);
	plot_free(&shares);
	whatif_curves_free(&curves);
}

TEST(a_cache_of_unknown_size_has_no_place_on_the_curve)
{
	struct whatif_curves curves = {0};
	struct plot plot = {0};
	struct profile profile;

	profile_init(&profile);
	profile.cache.id = CACHE_PAGE;
	profile.rates[TRACE_REAL] = (struct interval){100, 99, 101};
	assert_int_equal(plot_shares(&profile, &curves, &plot), 0);
	assert_int_equal(series_of(&plot, "this run")->count, 0);
	plot_free(&plot);
	plot = (struct plot){0};
	profile.cache_share = 1.5; /* it holds all */
	assert_int_equal(plot_shares(&profile, &curves, &plot), 0);
	assert_true(series_of(&plot, "this run")->points->x == 100);
	plot_free(&plot);
	profile_free(&profile);
}

/* At least to 8, at most 17 points, however many cores a file says. */
TEST(curves_have_few_points)
{
	static const struct {
		uint64_t cores;
		size_t points;
	} cases[] = {{1, 8}, {5, 10}, {64, 17}, {1 << 20, 17}};
	struct profile profile = kept;

	profile.rates[TRACE_REAL].value =
		1; /* the model won't agree: nothing to simulate */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct whatif_curves curves;

		profile.cores = cases[i].cores;
		assert_int_equal(whatif_curves_make(&profile, &curves), 0);
		assert_int_equal(curves.cores.prediction_count, cases[i].points);
		whatif_curves_free(&curves);
	}
}

TEST(bounds_are_an_area_of_their_own)
{
	struct whatif_curves curves = {.policy = {CACHE_MINIO, NULL}};
	struct plot plot = {0};
	const char *pale;
	char *text;

	profile_init(&curves.cores);
	for (unsigned i = 1; i <= 4; i++) {
		struct profile_prediction *prediction =
			profile_add_prediction(&curves.cores);

		prediction->change.cores = i;
		prediction->per_s =
			(struct interval){i < 3 ? 10 * i : NAN, 9 * i, 20 * i};
	}
	assert_int_equal(plot_cores(&kept, &curves, &plot), 0);
	assert_int_equal(series_of(&plot, "predicted")->count, 2);
	assert_int_equal(series_of(&plot, "only bounds are known")->count, 2);
	text = by_hand(&plot);
	pale = strstr(text, "fill-opacity=\".12\"");
	assert_non_null(pale);
	free(text);
	plot_free(&plot);
	profile_free(&curves.cores);
}

TEST(a_run_that_can_not_tell_has_no_curves)
{
	struct profile profile = kept;
	struct whatif_curves curves;
	struct plot plot = {0};

	profile.window_count = 0;
	assert_int_equal(whatif_curves_make(&profile, &curves), 0);
	assert_int_equal(curves.cores.prediction_count, 0);
	assert_int_equal(plot_cores(&profile, &curves, &plot), 0);
	assert_int_equal(series_of(&plot, "predicted")->count, 0);
	plot_free(&plot);
	whatif_curves_free(&curves);
}

TEST(short_memory_makes_no_plot)
{
	for (size_t i = 0; i < MAKERS; i++)
		for (unsigned nth = 1; nth < 4; nth++) {
			struct plot plot = {0};
			int result;

			nomem_at(nth);
			result = makers[i](&kept, &plot);
			nomem_at(0);
			assert_int_equal(result, -ENOMEM);
			plot_free(&plot);
		}
}

TEST(short_memory_makes_no_curve)
{
	for (unsigned nth = 1; nth < 40; nth++) {
		struct whatif_curves curves;
		int result;

		nomem_at(nth);
		result = whatif_curves_make(&kept, &curves);
		nomem_at(0);
		assert_int_equal(result, -ENOMEM);
		whatif_curves_free(&curves);
	}
}

TEST(every_window_has_its_mark)
{
	struct plot plot = {0};
	size_t circles = 0, hollow = 0;
	char *text;

	for (size_t i = 0; i < kept.window_count; i++) {
		circles += kept.windows[i].kind.id == TRACE_SYNTHETIC;
		hollow +=
			kept.windows[i].kind.id == TRACE_REAL && !kept.windows[i].used;
	}
	assert_int_equal(plot_windows(&kept, &plot), 0);
	text = by_hand(&plot);
	assert_int_equal(occurrences(text, "<circle"), circles);
	assert_int_equal(occurrences(text, "fill=\"var(--surface)\""), hollow);
	free(text);
	plot_free(&plot);
}

/* Colours are the page's, ids begin with the plot's, nothing of gnuplot's own is left. */
TEST(gnuplot_draws_for_the_page)
{
	for (size_t i = 0; i < MAKERS; i++) {
		struct plot plot = {0};
		struct error err = {0};
		char *text = NULL, id[64];
		size_t size;
		FILE *out = open_memstream(&text, &size);
		int result;

		makers[i](&kept, &plot);
		result = plot_by_gnuplot(&plot, out, &err);
		fclose(out);
		if (result == -ENOENT) {
			free(text);
			plot_free(&plot);
			skip();
		}
		assert_int_equal(result, 0);
		snprintf(id, sizeof(id), "id=\"%s-", plot.id);
		assert_int_equal(occurrences(text, "id=\""), occurrences(text, id));
		snprintf(id, sizeof(id), "id='%s-", plot.id);
		assert_int_equal(occurrences(text, "id='"), occurrences(text, id));
		assert_int_equal(occurrences(text, "rgb("), 0);
		assert_int_equal(occurrences(text, "xlink"), 0);
		assert_int_equal(occurrences(text, "<title"), 1);
		assert_int_equal(occurrences(text, "</svg>"), 1);
		free(text);
		plot_free(&plot);
	}
}

TEST(a_missing_gnuplot_is_an_error)
{
	char *path = strdup(getenv("PATH"));
	struct plot plot = {0};
	struct error err = {0};
	FILE *out = fopen("/dev/null", "w");

	plot_prep_curve(&kept, &plot);
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(plot_by_gnuplot(&plot, out, &err), -ENOENT);
	assert_string_equal(err.message,
			    "gnuplot drew nothing: No such file or directory");
	setenv("PATH", path, 1);
	plot_free(&plot);
	free(path);
	fclose(out);
}

TEST_GROUP(load, unload);
