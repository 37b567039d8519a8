/* plot_svg.c - draws a plot where gnuplot is missing. */
#include "reports/plot.h"

enum { LEFT = 48, RIGHT = 12, TOP = 14, BOTTOM = 46, MARK = 4 };

struct pen {
	const struct plot *plot;
	FILE *out;
};

static double at_x(const struct pen *pen, double x)
{
	const struct plot_axis *axis = &pen->plot->x;

	return LEFT +
	       (x - axis->low) / (axis->high - axis->low) * (PLOT_WIDTH - LEFT - RIGHT);
}

static double at_y(const struct pen *pen, double y)
{
	const struct plot_axis *axis = &pen->plot->y;

	return PLOT_HEIGHT - BOTTOM -
	       (y - axis->low) / (axis->high - axis->low) *
		       (PLOT_HEIGHT - TOP - BOTTOM);
}

static void line(const struct pen *pen, enum plot_ink ink, double x1, double y1,
		 double x2, double y2)
{
	fprintf(pen->out,
		"<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"var(--ink-%d)\"/>\n", x1, y1,
		x2, y2, ink);
}

static void text(const struct pen *pen, double x, double y, const char *anchor,
		 const char *words)
{
	fprintf(pen->out,
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" "
		"fill=\"var(--ink-%d)\">%s</text>\n",
		x, y, anchor, PLOT_TEXT, words);
}

static void axes(const struct pen *pen)
{
	const struct plot *plot = pen->plot;
	double floor = PLOT_HEIGHT - BOTTOM;

	for (size_t i = 0; i < plot->y.count; i++) {
		double y = at_y(pen, plot->y.ticks[i].at);

		line(pen, PLOT_GRID, LEFT, y, PLOT_WIDTH - RIGHT, y);
		text(pen, LEFT - 6, y + 4, "end", plot->y.ticks[i].label);
	}
	line(pen, PLOT_AXIS, LEFT, floor, PLOT_WIDTH - RIGHT, floor);
	for (size_t i = 0; i < plot->x.count; i++) {
		double x = at_x(pen, plot->x.ticks[i].at);

		line(pen, PLOT_AXIS, x, floor, x, floor + 4);
		text(pen, x, floor + 18, "middle", plot->x.ticks[i].label);
	}
	text(pen, (LEFT + PLOT_WIDTH - RIGHT) / 2.0, PLOT_HEIGHT - 8, "middle",
	     plot->x.label);
}

static void marker(const struct pen *pen, const struct plot_series *series, double x,
		   double y)
{
	if (series->ink == PLOT_COMPUTE)
		fprintf(pen->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"", x, y,
			MARK);
	else if (series->ink == PLOT_PREP)
		fprintf(pen->out, "<path d=\"M%.1f %.1fh%dv%dh-%dz\"", x - MARK,
			y - MARK, 2 * MARK, 2 * MARK, 2 * MARK);
	else
		fprintf(pen->out, "<path d=\"M%.1f %.1fl%d %dh-%dz\"", x, y - MARK - 1,
			MARK + 1, 2 * MARK, 2 * MARK + 2);
	if (series->hollow)
		fprintf(pen->out,
			" fill=\"var(--surface)\" stroke=\"var(--ink-%d)\"/>\n",
			series->ink);
	else
		fprintf(pen->out, " fill=\"var(--ink-%d)\"/>\n", series->ink);
}

static void join(const struct pen *pen, const struct plot_series *series)
{
	fputs("<path d=\"", pen->out);
	for (size_t i = 0; i < series->count; i++)
		fprintf(pen->out, "%c%.1f %.1f", i == 0 ? 'M' : 'L',
			at_x(pen, series->points[i].x), at_y(pen, series->points[i].y));
	fprintf(pen->out,
		"\" fill=\"none\" stroke=\"var(--ink-%d)\" stroke-width=\"%s\"%s/>\n",
		series->ink, series->style == PLOT_LEVEL ? "1.5" : "2",
		series->style == PLOT_DASHED  ? " stroke-dasharray=\"6 4\""
		: series->style == PLOT_LEVEL ? " stroke-dasharray=\"2 3\""
					      : "");
}

static void bar(const struct pen *pen, const struct plot_series *series,
		const struct plot_point *point)
{
	double left = at_x(pen, point->x - .46), right = at_x(pen, point->x + .46);
	double top = at_y(pen, point->y), floor = at_y(pen, 0);

	fprintf(pen->out,
		"<path d=\"M%.1f %.1fH%.1fV%.1fH%.1fz\" fill=\"var(--ink-%d)\"/>\n",
		left, floor, right, top, left, series->ink);
}

static void draw(const struct pen *pen, const struct plot_series *series)
{
	if (series->count > 0 && series->style != PLOT_POINTS &&
	    series->style != PLOT_BARS)
		join(pen, series);
	if (series->style == PLOT_LEVEL)
		return;
	for (size_t i = 0; i < series->count; i++) {
		const struct plot_point *point = &series->points[i];
		double x = at_x(pen, point->x);

		if (series->style == PLOT_BARS) {
			bar(pen, series, point);
			continue;
		}
		if (point->high > point->low)
			line(pen, series->ink, x, at_y(pen, point->low), x,
			     at_y(pen, point->high));
		marker(pen, series, x, at_y(pen, point->y));
	}
}

void plot_by_hand(const struct plot *plot, FILE *out)
{
	struct pen pen = {plot, out};

	plot_begin_svg(plot, out);
	axes(&pen);
	for (size_t i = 0; i < plot->count; i++)
		draw(&pen, &plot->series[i]);
	fputs("</svg>\n", out);
}
