/* plot_svg.c - draws a plot where gnuplot is missing. */
#include "reports/plot/plot.h"

#include <math.h>

enum { MARK = 4 };

struct pen {
	const struct plot *plot;
	FILE *out;
};

static double at_x(const struct pen *pen, double x)
{
	const struct plot_axis *axis = &pen->plot->x;
	int left = plot_left(pen->plot);

	return left + (x - axis->low) / (axis->high - axis->low) *
			      (PLOT_WIDTH - left - PLOT_RIGHT);
}

static double at_y(const struct pen *pen, double y)
{
	const struct plot_axis *axis = &pen->plot->y;
	int height = plot_height(pen->plot);

	return height - PLOT_BOTTOM -
	       (y - axis->low) / (axis->high - axis->low) *
		       (height - PLOT_TOP - PLOT_BOTTOM);
}

static void plot_svg_line(const struct pen *pen, enum plot_ink ink, double x1,
			  double y1, double x2, double y2)
{
	fprintf(pen->out,
		"<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"var(--ink-%d)\"/>\n", x1, y1,
		x2, y2, ink);
}

static void plot_svg_text(const struct pen *pen, double x, double y, const char *anchor,
			  const char *words)
{
	fprintf(pen->out,
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" "
		"fill=\"var(--ink-%d)\">%s</text>\n",
		x, y, anchor, PLOT_TEXT, words);
}

static void plot_svg_axes(const struct pen *pen)
{
	const struct plot *plot = pen->plot;
	int left = plot_left(plot), height = plot_height(plot);
	double floor = height - PLOT_BOTTOM;

	for (size_t i = 0; i < plot->y.count; i++) {
		double y = at_y(pen, plot->y.ticks[i].at);

		plot_svg_line(pen, PLOT_GRID, left, y, PLOT_WIDTH - PLOT_RIGHT, y);
		plot_svg_text(pen, left - 6, y + 4, "end", plot->y.ticks[i].label);
	}
	plot_svg_line(pen, PLOT_AXIS, left, floor, PLOT_WIDTH - PLOT_RIGHT, floor);
	for (size_t i = 0; i < plot->x.count; i++) {
		double x = at_x(pen, plot->x.ticks[i].at);

		plot_svg_line(pen, PLOT_AXIS, x, floor, x, floor + 4);
		plot_svg_text(pen, x, floor + 18, "middle", plot->x.ticks[i].label);
	}
	plot_svg_text(pen, (left + PLOT_WIDTH - PLOT_RIGHT) / 2.0, height - 8, "middle",
		      plot->x_label);
}

static void plot_svg_marker(const struct pen *pen, const struct plot_series *series,
			    double x, double y)
{
	if (series->ink == PLOT_COMPUTE)
		fprintf(pen->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"", x, y,
			MARK);
	else if (series->ink == PLOT_PREP)
		fprintf(pen->out, "<path d=\"M%.1f %.1fh%dv%dh-%dz\"", x - MARK,
			y - MARK, 2 * MARK, 2 * MARK, 2 * MARK);
	else if (series->ink == PLOT_COPY)
		fprintf(pen->out, "<path d=\"M%.1f %.1fl%d %dl-%d %dl-%d -%dz\"", x,
			y - MARK - 1, MARK + 1, MARK + 1, MARK + 1, MARK + 1, MARK + 1,
			MARK + 1);
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

static void plot_svg_join(const struct pen *pen, const struct plot_series *series)
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

static void plot_svg_bar(const struct pen *pen, const struct plot_series *series,
			 const struct plot_point *point)
{
	double left = at_x(pen, point->x - .46), right = at_x(pen, point->x + .46);
	double top = at_y(pen, point->y), floor = at_y(pen, 0);

	fprintf(pen->out,
		"<path d=\"M%.1f %.1fH%.1fV%.1fH%.1fz\" fill=\"var(--ink-%d)\"/>\n",
		left, floor, right, top, left, series->ink);
}

/* Along the low ends, and back along the high ones. */
static void plot_svg_band(const struct pen *pen, const struct plot_series *series)
{
	fputs("<path d=\"", pen->out);
	for (size_t i = 0; i < series->count; i++)
		fprintf(pen->out, "%c%.1f %.1f", i == 0 ? 'M' : 'L',
			at_x(pen, series->points[i].x),
			at_y(pen, series->points[i].low));
	for (size_t i = series->count; i-- > 0;)
		fprintf(pen->out, "L%.1f %.1f", at_x(pen, series->points[i].x),
			at_y(pen, series->points[i].high));
	fprintf(pen->out, "z\" fill=\"var(--ink-%d)\" fill-opacity=\"%s\"/>\n",
		series->ink, series->hollow ? ".12" : ".25");
}

/* A bar of a row, between two places on the x axis, and the line it is seen from. */
static void plot_svg_row(const struct pen *pen, const struct plot_point *point,
			 double from, double to, const char *look)
{
	double left = at_x(pen, fmin(from, to)), right = at_x(pen, fmax(from, to));
	double top = at_y(pen, point->y - PLOT_ROW_TOP);

	fprintf(pen->out, "<path d=\"M%.1f %.1fH%.1fV%.1fH%.1fz\" %s/>\n", left, top,
		right, at_y(pen, point->y - PLOT_ROW_END), left, look);
	plot_svg_line(pen, PLOT_AXIS, at_x(pen, 1), top - MARK, at_x(pen, 1),
		      at_y(pen, point->y - PLOT_ROW_END) + MARK);
}

static void plot_svg_gain(const struct pen *pen, const struct plot_series *series,
			  const struct plot_point *point)
{
	double y = at_y(pen, point->y - (PLOT_ROW_TOP + PLOT_ROW_END) / 2);
	double low = at_x(pen, point->low), high = at_x(pen, point->high);
	char look[64];

	snprintf(look, sizeof(look), "fill=\"var(--ink-%d)\"", series->ink);
	plot_svg_row(pen, point, 1, point->x, look);
	if (!(point->high > point->low))
		return;
	plot_svg_line(pen, PLOT_TEXT, low, y, high, y);
	plot_svg_line(pen, PLOT_TEXT, low, y - MARK, low, y + MARK);
	plot_svg_line(pen, PLOT_TEXT, high, y - MARK, high, y + MARK);
}

static void plot_svg_range(const struct pen *pen, const struct plot_series *series,
			   const struct plot_point *point)
{
	char look[96];

	snprintf(look, sizeof(look),
		 "fill=\"none\" stroke=\"var(--ink-%d)\" stroke-dasharray=\"3 2\"",
		 series->ink);
	plot_svg_row(pen, point, point->low, point->high, look);
}

static void plot_svg_mark(const struct pen *pen, const struct plot_series *series,
			  const struct plot_point *point)
{
	double x = at_x(pen, point->x);

	if (point->high > point->low)
		plot_svg_line(pen, series->ink, x, at_y(pen, point->low), x,
			      at_y(pen, point->high));
	plot_svg_marker(pen, series, x, at_y(pen, point->y));
}

typedef void draw_point(const struct pen *pen, const struct plot_series *series,
			const struct plot_point *point);

static void plot_svg_draw(const struct pen *pen, const struct plot_series *series)
{
	static draw_point *const draws[] = {
		[PLOT_POINTS] = plot_svg_mark, [PLOT_CURVE] = plot_svg_mark,
		[PLOT_DASHED] = plot_svg_mark, [PLOT_BARS] = plot_svg_bar,
		[PLOT_ERRORS] = plot_svg_mark, [PLOT_GAIN] = plot_svg_gain,
		[PLOT_RANGE] = plot_svg_range, [PLOT_BAND] = NULL,
	};
	draw_point *draw_one = draws[series->style];

	if (series->count == 0)
		return;
	if (series->style == PLOT_BAND)
		plot_svg_band(pen, series);
	else if (series->style == PLOT_CURVE || series->style == PLOT_DASHED ||
		 series->style == PLOT_LEVEL || series->style == PLOT_LINE)
		plot_svg_join(pen, series);
	for (size_t i = 0; draw_one != NULL && i < series->count; i++)
		draw_one(pen, series, &series->points[i]);
}

void plot_by_hand(const struct plot *plot, FILE *out)
{
	struct pen pen = {plot, out};

	plot_begin_svg(plot, out);
	plot_svg_axes(&pen);
	for (size_t i = 0; i < plot->count; i++)
		plot_svg_draw(&pen, &plot->series[i]);
	for (size_t i = 0; i < plot->label_count; i++) {
		const struct plot_label *label = &plot->labels[i];

		plot_svg_text(&pen, at_x(&pen, label->x), at_y(&pen, label->y) + 4,
			      label->end ? "end" : "start", label->text);
	}
	fputs("</svg>\n", out);
}
