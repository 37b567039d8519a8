/* html_figure.c - a plot with its legend and its numbers. */
#include "reports/html/html_part.h"
#include "reports/plot/plot.h"

static void html_figure_draw(const struct html *html, const struct plot *plot)
{
	if (!*html->by_hand && plot_by_gnuplot(plot, html->out, NULL) < 0)
		*html->by_hand = true;
	if (*html->by_hand)
		plot_by_hand(plot, html->out);
}

/* The dashes of its line; NULL: it has none. */
static const char *html_figure_dashes(enum plot_style style)
{
	switch (style) {
	case PLOT_CURVE:
	case PLOT_LINE:
		return "none";
	case PLOT_DASHED:
		return "5 3";
	case PLOT_LEVEL:
		return "2 3";
	default:
		return NULL;
	}
}

static bool is_area(enum plot_style style)
{
	return style == PLOT_BAND || style == PLOT_GAIN || style == PLOT_RANGE;
}

/* A piece of an area or of a bar. */
static void html_figure_area(FILE *out, const struct plot_series *series)
{
	if (series->style == PLOT_RANGE)
		fprintf(out,
			"<path d=\"M2 3H30V13H2z\" fill=\"none\" "
			"stroke=\"var(--ink-%d)\" stroke-dasharray=\"3 2\"/>",
			series->ink);
	else
		fprintf(out,
			"<path d=\"M2 3H30V13H2z\" fill=\"var(--ink-%d)\" "
			"fill-opacity=\"%s\"/>",
			series->ink,
			series->style == PLOT_GAIN ? "1"
			: series->hollow           ? ".12"
						   : ".25");
}

static void html_figure_symbol(FILE *out, const struct plot_series *series)
{
	const char *shape =
		series->ink == PLOT_COMPUTE ? "<circle cx=\"16\" cy=\"8\" r=\"4.5\""
		: series->ink == PLOT_PREP  ? "<path d=\"M12 4h8v8h-8z\""
		: series->ink == PLOT_COPY  ? "<path d=\"M16 2l6 6l-6 6l-6 -6z\""
					    : "<path d=\"M16 3l5 9h-10z\"";

	fprintf(out, "%s fill=\"%s%d)\" stroke=\"var(--ink-%d)\"/>", shape,
		series->hollow ? "var(--surface, " : "var(--ink-", series->ink,
		series->ink);
}

static void legend_mark(FILE *out, const struct plot_series *series)
{
	const char *line = html_figure_dashes(series->style);

	fputs("<svg viewBox=\"0 0 32 16\" aria-hidden=\"true\">", out);
	if (line != NULL)
		fprintf(out,
			"<path d=\"M0 8H32\" stroke=\"var(--ink-%d)\" "
			"stroke-width=\"2\" stroke-dasharray=\"%s\"/>",
			series->ink, line);
	if (is_area(series->style))
		html_figure_area(out, series);
	else if (series->style != PLOT_LEVEL && series->style != PLOT_LINE)
		html_figure_symbol(out, series);
	fputs("</svg>", out);
}

static void html_figure_legend(FILE *out, const struct plot *plot)
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

static void html_figure_show(const struct html *html, const struct plot *plot,
			     html_numbers *numbers)
{
	fprintf(html->out,
		"<div>\n<figure>\n<figcaption><h3>%s</h3><p>%s</p></figcaption>\n",
		plot->title, plot->about);
	html_figure_draw(html, plot);
	if (plot->series[0].style != PLOT_BARS)
		html_figure_legend(html->out, plot);
	fputs("</figure>\n", html->out);
	if (numbers != NULL) {
		fputs("<details><summary>The numbers</summary>\n", html->out);
		numbers(html);
		fputs("</details>\n", html->out);
	}
	fputs("</div>\n", html->out);
}

void html_figure(const struct html *html, struct plot *plot, int made,
		 html_numbers *numbers)
{
	*html->failed |= made < 0;
	if (made == 0 && plot_has_points(plot))
		html_figure_show(html, plot, numbers);
	plot_free(plot);
}
