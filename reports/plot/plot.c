/* plot.c - series, ticks and scales of a plot. */
#include "reports/plot/plot.h"
#include "reports/common/format.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct plot_series *plot_add(struct plot *plot, const char *name, enum plot_style style,
			     enum plot_ink ink)
{
	struct plot_series *series = &plot->series[plot->count++];

	*series = (struct plot_series){.name = name, .style = style, .ink = ink};
	series->hollow = style == PLOT_DASHED;
	return series;
}

static bool can_be_drawn(double x)
{
	return isfinite(x) && fabs(x) < 1e15;
}

int plot_point(struct plot_series *series, double x, double y, double low, double high)
{
	struct plot_point *grown;

	if (!can_be_drawn(x) || !can_be_drawn(y))
		return 0;
	grown = realloc(series->points, (series->count + 1) * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	series->points = grown;
	grown[series->count++] = (struct plot_point){x, y, can_be_drawn(low) ? low : y,
						     can_be_drawn(high) ? high : y};
	return 0;
}

void plot_tick(struct plot_axis *axis, double at, const char *label)
{
	if (axis->count == PLOT_TICKS)
		return;
	axis->ticks[axis->count].at = at;
	snprintf(axis->ticks[axis->count].label, sizeof(axis->ticks[0].label), "%s",
		 label);
	axis->count++;
}

void plot_label(struct plot *plot, double x, double y, bool end, const char *text)
{
	struct plot_label *label = &plot->labels[plot->label_count];

	if (plot->label_count == PLOT_LABELS)
		return;
	*label = (struct plot_label){.x = x, .y = y, .end = end};
	snprintf(label->text, sizeof(label->text), "%s", text);
	plot->label_count++;
}

int plot_height(const struct plot *plot)
{
	return plot->rows > 0 ? PLOT_TOP + PLOT_BOTTOM + plot->rows * PLOT_ROW
			      : PLOT_HEIGHT;
}

int plot_left(const struct plot *plot)
{
	return plot->rows > 0 ? PLOT_RIGHT : PLOT_LEFT;
}

/* 1, 2 or 5 times a power of ten, so that about four steps reach `high`. */
static double round_step(double high)
{
	double power = pow(10, floor(log10(high / 4)));
	double times = high / 4 / power;

	return power * (times > 5 ? 10 : times > 2 ? 5 : times > 1 ? 2 : 1);
}

void plot_scale(struct plot_axis *axis, double low, double high, const char *unit)
{
	double span = high - low > 1e-12 ? high - low : 1, step = round_step(span);
	double first = floor(low / step + 1e-9);
	int count = (int)ceil((low + span) / step - first - 1e-9);
	char label[FORMAT_SIZE];

	axis->low = first * step;
	axis->high = (first + count) * step;
	for (int i = 0; i <= count; i++) {
		snprintf(label, sizeof(label), "%.6g%s", (first + i) * step, unit);
		plot_tick(axis, (first + i) * step, label);
	}
}

/* The largest x, or the largest y and end of an interval. */
static double plot_highest(const struct plot *plot, bool of_x)
{
	double high = 0;

	for (size_t i = 0; i < plot->count; i++)
		for (size_t at = 0; at < plot->series[i].count; at++) {
			const struct plot_point *point = &plot->series[i].points[at];

			high = fmax(high,
				    of_x ? point->x : fmax(point->y, point->high));
		}
	return high;
}

void plot_scale_y(struct plot *plot, const char *unit)
{
	plot_scale(&plot->y, 0, plot_highest(plot, false), unit);
}

void plot_scale_x(struct plot *plot)
{
	plot_scale(&plot->x, 0, plot_highest(plot, true), "");
}

bool plot_has_points(const struct plot *plot)
{
	for (size_t i = 0; i < plot->count; i++)
		if (plot->series[i].count > 0 && plot->series[i].style != PLOT_LEVEL)
			return true;
	return false;
}

void plot_free(struct plot *plot)
{
	for (size_t i = 0; i < plot->count; i++)
		free(plot->series[i].points);
	*plot = (struct plot){0};
}

void plot_begin_svg(const struct plot *plot, FILE *out)
{
	fprintf(out,
		"<svg viewBox=\"0 0 %d %d\" role=\"img\" "
		"aria-labelledby=\"%s-title %s-about\">\n"
		"<title id=\"%s-title\">%s</title>\n<desc id=\"%s-about\">%s</desc>\n",
		PLOT_WIDTH, plot_height(plot), plot->id, plot->id, plot->id,
		plot->title, plot->id, plot->about);
}
