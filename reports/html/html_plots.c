/* html_plots.c - the plots of what was measured, their numbers in tables. */
#include "reports/common/format.h"
#include "reports/html/html_part.h"
#include "reports/plot/plot.h"

/* Makes a plot and shows it; the first that has anything to show begins the section. */
static void html_plots_figure(const struct html *html, bool *begun, plot_maker *make,
			      html_numbers *numbers)
{
	struct plot plot = {0};
	int made = make(html->profile, &plot);

	if (made == 0 && plot_has_points(&plot) && !*begun) {
		html_section(html->out, "evidence", "Evidence");
		fputs("<div class=\"figures\">\n", html->out);
		*begun = true;
	}
	html_figure(html, &plot, made, numbers);
}

static void html_plots_points(const struct html *html,
			      const struct profile_point *points, size_t count)
{
	FILE *out = html->out;
	char text[FORMAT_RANGE];

	for (size_t i = 0; i < count; i++) {
		const struct profile_point *point = &points[i];

		fprintf(out, "<tr><td class=\"n\">%u</td>", point->x);
		html_number(out, format_rate(text, point->per_s.value));
		html_number(out, html_range(text, &point->per_s));
		html_number(out, format_bytes(text, point->bytes_per_s));
		html_number(out, format_seconds(text, point->cpu_s_per_sample));
		html_cell(out, point->with_consumer ? "the step"
			       : point->unthrottled ? "nothing, no storage limit"
						    : "nothing");
		fputs("</tr>\n", out);
	}
	html_table_end(out);
}

static void prep_numbers(const struct html *html)
{
	html_table(html->out, "Preparation by workers",
		   "Workers#|Samples/s#|Interval#|Bytes/s#|CPU/sample#|Beside it");
	html_plots_points(html, html->profile->prep_curve, html->profile->prep_points);
}

static void fetch_numbers(const struct html *html)
{
	html_table(html->out, "Storage by reads in flight",
		   "In flight#|Samples/s#|Interval#|Bytes/s#|CPU/sample#|Beside it");
	html_plots_points(html, html->profile->fetch_curve,
			  html->profile->fetch_points);
}

static void window_numbers(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	html_table(html->out, "Rate of each window", "Start, s#|Kind|Used|Samples/s#");
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		html_start(html->out, window->start_s);
		html_cell(html->out, profile_word(profile_kinds, &window->kind));
		html_cell(html->out, window->used ? "yes" : "no");
		html_number(html->out, format_rate(text, window->per_s));
		fputs("</tr>\n", html->out);
	}
	html_table_end(html->out);
}

static void cache_numbers(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	html_table(html->out, "Cache hits by epoch",
		   "Epoch#|Hits#|Misses#|Bytes missed#");
	for (size_t i = 0; i < profile->epoch_count; i++) {
		const struct profile_epoch *epoch = &profile->epochs[i];

		fputs("<tr>", html->out);
		html_number(html->out, format_count(text, epoch->epoch));
		html_number(html->out, format_count(text, epoch->hits));
		html_number(html->out, format_count(text, epoch->misses));
		html_number(html->out,
			    epoch->miss_bytes == UNKNOWN
				    ? "n/a"
				    : format_bytes(text, (double)epoch->miss_bytes));
		fputs("</tr>\n", html->out);
	}
	html_table_end(html->out);
}

static void html_plots_buckets(const struct html *html, const char *caption,
			       const struct profile_histogram *histogram,
			       const char *(*format)(char *to, double value))
{
	char text[FORMAT_SIZE];

	html_table(html->out, caption, "From#|To#|Samples#");
	for (size_t i = 0; i < histogram->buckets; i++) {
		if (histogram->count[i] == 0)
			continue;
		fputs("<tr>", html->out);
		html_number(html->out, format(text, ldexp(histogram->low, (int)i)));
		html_number(html->out, format(text, ldexp(histogram->low, (int)i + 1)));
		html_number(html->out, format_count(text, histogram->count[i]));
		fputs("</tr>\n", html->out);
	}
	html_table_end(html->out);
}

static void prep_time_numbers(const struct html *html)
{
	html_plots_buckets(html, "Preparation time of a sample", &html->profile->prep_s,
			   format_seconds);
}

static void fetch_time_numbers(const struct html *html)
{
	html_plots_buckets(html, "Fetch time of a sample", &html->profile->fetch_s,
			   format_seconds);
}

static void size_numbers(const struct html *html)
{
	html_plots_buckets(html, "Size of a sample", &html->profile->bytes,
			   format_bytes);
}

void html_plots(const struct html *html)
{
	bool begun = false;

	html_plots_figure(html, &begun, plot_prep_curve, prep_numbers);
	html_plots_figure(html, &begun, plot_fetch_curve, fetch_numbers);
	html_plots_figure(html, &begun, plot_windows, window_numbers);
	html_plots_figure(html, &begun, plot_cache, cache_numbers);
	html_plots_figure(html, &begun, plot_prep_times, prep_time_numbers);
	html_plots_figure(html, &begun, plot_fetch_times, fetch_time_numbers);
	html_plots_figure(html, &begun, plot_sizes, size_numbers);
	if (begun)
		fputs("</div>\n</section>\n", html->out);
}
