#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/json.h"
#include "reports/plot.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static plot_maker *const makers[] = {
	plot_prep_curve, plot_fetch_curve, plot_windows, plot_cache,
	plot_prep_times, plot_fetch_times, plot_sizes};
enum { MAKERS = sizeof(makers) / sizeof(makers[0]) };

static struct profile kept;

static int load(void **state)
{
	(void)state;
	return json_result_load("tests/data/run.json", &kept, NULL);
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

static void every_point_is_within_the_axes(void **state)
{
	(void)state;
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

static void ticks_are_round(void **state)
{
	static const struct {
		double most, high;
		const char *second;
	} cases[] = {{1912, 2000, "500"},
		     {3840, 4000, "1000"},
		     {.37, .4, "0.1"},
		     {100, 100, "50"},
		     {0, 1, "0.5"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plot plot = {0};
		struct plot_series *series = plot_add(&plot, "", PLOT_CURVE, PLOT_PREP);

		assert_int_equal(plot_point(series, 1, cases[i].most, NAN, NAN), 0);
		plot_scale_y(&plot);
		assert_true(fabs(plot.y.high - cases[i].high) < 1e-9);
		assert_string_equal(plot.y.ticks[1].label, cases[i].second);
		plot_free(&plot);
	}
}

static void a_histogram_shows_only_what_was_counted(void **state)
{
	struct profile profile;
	struct plot plot = {0};
	static const uint64_t counts[] = {0, 0, 1, 0, 3, 0};

	(void)state;
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

static void what_cannot_be_drawn_is_left_out(void **state)
{
	struct plot plot = {0};
	struct plot_series *series = plot_add(&plot, "", PLOT_POINTS, PLOT_PREP);

	(void)state;
	assert_int_equal(plot_point(series, 1, NAN, 0, 0), 0);
	assert_int_equal(plot_point(series, INFINITY, 1, 0, 0), 0);
	assert_int_equal(plot_point(series, 1, 1e300, 0, 0), 0);
	assert_false(plot_has_points(&plot));
	assert_int_equal(plot_point(series, 1, 2, NAN, INFINITY), 0);
	assert_true(series->points[0].low == 2 && series->points[0].high == 2);
	plot_free(&plot);
}

static void the_kernels_cache_has_no_hits_to_show(void **state)
{
	struct profile profile = kept;
	struct plot plot = {0};
	char page[] = "page";

	(void)state;
	profile.cache = page;
	assert_int_equal(plot_cache(&profile, &plot), 0);
	assert_false(plot_has_points(&plot));
	plot_free(&plot);
}

static void every_window_has_its_mark(void **state)
{
	struct plot plot = {0};
	size_t circles = 0, hollow = 0;
	char *text;

	(void)state;
	for (size_t i = 0; i < kept.window_count; i++) {
		circles += strcmp(kept.windows[i].kind, "synthetic") == 0;
		hollow += strcmp(kept.windows[i].kind, "real") == 0 &&
			  !kept.windows[i].used;
	}
	assert_int_equal(plot_windows(&kept, &plot), 0);
	text = by_hand(&plot);
	assert_int_equal(occurrences(text, "<circle"), circles);
	assert_int_equal(occurrences(text, "fill=\"var(--surface)\""), hollow);
	free(text);
	plot_free(&plot);
}

/* Colours are the page's, ids begin with the plot's, nothing of gnuplot's own is left. */
static void gnuplot_draws_for_the_page(void **state)
{
	(void)state;
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

static void a_missing_gnuplot_is_an_error(void **state)
{
	char *path = strdup(getenv("PATH"));
	struct plot plot = {0};
	struct error err = {0};
	FILE *out = fopen("/dev/null", "w");

	(void)state;
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_point_is_within_the_axes),
		cmocka_unit_test(ticks_are_round),
		cmocka_unit_test(a_histogram_shows_only_what_was_counted),
		cmocka_unit_test(what_cannot_be_drawn_is_left_out),
		cmocka_unit_test(the_kernels_cache_has_no_hits_to_show),
		cmocka_unit_test(every_window_has_its_mark),
		cmocka_unit_test(gnuplot_draws_for_the_page),
		cmocka_unit_test(a_missing_gnuplot_is_an_error),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("plot", tests, load, unload);
}
