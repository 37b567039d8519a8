/* html_plots.c - every plot with its legend and its numbers in a table. */
#include "reports/format.h"
#include "reports/html_part.h"
#include "reports/plot.h"

#include <stdlib.h>

struct drawing {
	const struct html *html;
	bool by_gnuplot; /* after one failure it gets no other chance */
	bool begun;      /* the section has its head */
};

static void draw(struct drawing *drawing, const struct plot *plot)
{
	if (drawing->by_gnuplot && plot_by_gnuplot(plot, drawing->html->out, NULL) < 0)
		drawing->by_gnuplot = false;
	if (!drawing->by_gnuplot)
		plot_by_hand(plot, drawing->html->out);
}

static void legend_mark(FILE *out, const struct plot_series *series)
{
	static const char *const shapes[] = {
		[PLOT_COMPUTE] = "<circle cx=\"16\" cy=\"8\" r=\"4.5\"",
		[PLOT_PREP] = "<path d=\"M12 4h8v8h-8z\"",
		[PLOT_FETCH] = "<path d=\"M16 3l5 9h-10z\"",
	};
	const char *dashes = series->style == PLOT_DASHED  ? "5 3"
			     : series->style == PLOT_LEVEL ? "2 3"
							   : "none";

	fputs("<svg viewBox=\"0 0 32 16\" aria-hidden=\"true\">", out);
	if (series->style != PLOT_POINTS && series->style != PLOT_BARS)
		fprintf(out,
			"<path d=\"M0 8H32\" stroke=\"var(--ink-%d)\" "
			"stroke-width=\"2\" stroke-dasharray=\"%s\"/>",
			series->ink, dashes);
	if (series->style != PLOT_LEVEL)
		fprintf(out, "%s fill=\"%s%d)\" stroke=\"var(--ink-%d)\"/>",
			shapes[series->ink],
			series->hollow ? "var(--surface, " : "var(--ink-", series->ink,
			series->ink);
	fputs("</svg>", out);
}

static void legend(FILE *out, const struct plot *plot)
{
	fputs("<ul class=\"legend\">", out);
	for (size_t i = 0; i < plot->count; i++) {
		const struct plot_series *series = &plot->series[i];

		if (series->count == 0)
			continue;
		fputs("<li>", out);
		legend_mark(out, series);
		fprintf(out, "%s</li>", series->name);
	}
	fputs("</ul>\n", out);
}

typedef void write_numbers(const struct html *html);

static void figure(struct drawing *drawing, plot_maker *make, write_numbers *numbers)
{
	const struct html *html = drawing->html;
	struct plot plot = {0};
	int result = make(html->profile, &plot);

	*html->failed |= result < 0;
	if (result == 0 && plot_has_points(&plot)) {
		if (!drawing->begun)
			fputs("<section aria-labelledby=\"evidence\">\n<h2 "
			      "id=\"evidence\">Evidence</h2>\n<div "
			      "class=\"figures\">\n",
			      html->out);
		drawing->begun = true;
		fprintf(html->out,
			"<figure>\n<figcaption><h3>%s</h3><p>%s</p></figcaption>\n",
			plot.title, plot.about);
		draw(drawing, &plot);
		if (plot.series[0].style != PLOT_BARS)
			legend(html->out, &plot);
		fputs("<details><summary>The numbers</summary>\n", html->out);
		numbers(html);
		fputs("</details>\n</figure>\n", html->out);
	}
	plot_free(&plot);
}

static void points(const struct html *html, const struct profile_point *points,
		   size_t count)
{
	FILE *out = html->out;
	char text[FORMAT_SIZE];

	for (size_t i = 0; i < count; i++) {
		const struct profile_point *point = &points[i];

		fprintf(out, "<tr><td class=\"n\">%u</td>", point->x);
		html_number(out, format_rate(text, point->per_s.value));
		html_number(out, html_range(text, &point->per_s));
		html_number(out, format_bytes(text, point->bytes_per_s));
		html_number(out, format_seconds(text, point->cpu_s_per_sample));
		html_cell(out, point->with_consumer ? "the step" : "nothing");
		fputs("</tr>\n", out);
	}
	html_table_end(out);
}

static void prep_numbers(const struct html *html)
{
	html_table(html->out, "Preparation by workers",
		   "Workers#|Samples/s#|Interval#|Bytes/s#|CPU/sample#|Beside it");
	points(html, html->profile->prep_curve, html->profile->prep_points);
}

static void fetch_numbers(const struct html *html)
{
	html_table(html->out, "Storage by reads in flight",
		   "In flight#|Samples/s#|Interval#|Bytes/s#|CPU/sample#|Beside it");
	points(html, html->profile->fetch_curve, html->profile->fetch_points);
}

static void window_numbers(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	html_table(html->out, "Rate of each window", "Start, s#|Kind|Used|Samples/s#");
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		fprintf(html->out, "<tr><td class=\"n\">%.1f</td>", window->start_s);
		html_cell(html->out, window->kind);
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

static void buckets(const struct html *html, const char *caption,
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
	buckets(html, "Preparation time of a sample", &html->profile->prep_s,
		format_seconds);
}

static void fetch_time_numbers(const struct html *html)
{
	buckets(html, "Fetch time of a sample", &html->profile->fetch_s,
		format_seconds);
}

static void size_numbers(const struct html *html)
{
	buckets(html, "Size of a sample", &html->profile->bytes, format_bytes);
}

void html_plots(const struct html *html)
{
	struct drawing drawing = {html, true, false};

	figure(&drawing, plot_prep_curve, prep_numbers);
	figure(&drawing, plot_fetch_curve, fetch_numbers);
	figure(&drawing, plot_windows, window_numbers);
	figure(&drawing, plot_cache, cache_numbers);
	figure(&drawing, plot_prep_times, prep_time_numbers);
	figure(&drawing, plot_fetch_times, fetch_time_numbers);
	figure(&drawing, plot_sizes, size_numbers);
	if (drawing.begun)
		fputs("</div>\n</section>\n", html->out);
}
