#include "reports/plot.h"
#include "reports/format.h"

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
	grown = reallocarray(series->points, series->count + 1, sizeof(*grown));
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

/* 1, 2 or 5 times a power of ten, so that about four steps reach `high`. */
static double round_step(double high)
{
	double power = pow(10, floor(log10(high / 4)));
	double times = high / 4 / power;

	return power * (times > 5 ? 10 : times > 2 ? 5 : times > 1 ? 2 : 1);
}

static void scale(struct plot_axis *axis, double high)
{
	double step = round_step(high > 1e-12 ? high : 1);
	int count = (int)ceil((high > 1e-12 ? high : 1) / step - 1e-9);
	char label[FORMAT_SIZE];

	axis->low = 0;
	axis->high = count * step;
	for (int i = 0; i <= count; i++) {
		snprintf(label, sizeof(label), "%.6g", i * step);
		plot_tick(axis, i * step, label);
	}
}

void plot_scale_y(struct plot *plot)
{
	double high = 0;

	for (size_t i = 0; i < plot->count; i++)
		for (size_t at = 0; at < plot->series[i].count; at++)
			high = fmax(high, fmax(plot->series[i].points[at].y,
					       plot->series[i].points[at].high));
	scale(&plot->y, high);
}

void plot_scale_x(struct plot *plot)
{
	double high = 0;

	for (size_t i = 0; i < plot->count; i++)
		for (size_t at = 0; at < plot->series[i].count; at++)
			high = fmax(high, plot->series[i].points[at].x);
	scale(&plot->x, high);
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
		PLOT_WIDTH, PLOT_HEIGHT, plot->id, plot->id, plot->id, plot->title,
		plot->id, plot->about);
}
