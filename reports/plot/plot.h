/*
 * plot.h - a picture as data: two axes, some series. plot_gnuplot.c and plot_svg.c
 * draw the same one; plot_make.c makes them from a profile.
 *
 * Every text in a plot is a constant of this program or a formatted number: nothing
 * from outside gets here, so nothing has to be quoted for gnuplot.
 */
#ifndef DSA_PLOT_H
#define DSA_PLOT_H

#include "profiler/stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct error;
struct profile;
struct whatif_curves;

enum {
	PLOT_WIDTH = 420,
	PLOT_HEIGHT = 250,
	PLOT_ROW = 38, /* of PLOT_GAIN and PLOT_RANGE */
	PLOT_TICKS = 12,
	PLOT_SERIES = 2 * STAGES + 1,
	PLOT_LABELS = 24
};

/* Between the picture's edge and the axes. */
enum { PLOT_LEFT = 48, PLOT_RIGHT = 18, PLOT_TOP = 14, PLOT_BOTTOM = 46 };

/* Colours are the page's: the CSS variables --ink-1 .. --ink-7. */
enum plot_ink {
	PLOT_AXIS = 1,
	PLOT_TEXT,
	PLOT_GRID,
	PLOT_COMPUTE, /* circles */
	PLOT_PREP,    /* squares */
	PLOT_FETCH,   /* triangles */
	PLOT_COPY     /* diamonds */
};

enum plot_style {
	PLOT_POINTS, /* markers */
	PLOT_CURVE,  /* markers with intervals, joined by a line */
	PLOT_DASHED, /* the same, hollow and dashed */
	PLOT_LEVEL,  /* a dotted line without markers */
	PLOT_BARS,   /* from 0 to y, one unit wide */
	PLOT_ERRORS, /* markers with intervals */
	PLOT_LINE,   /* joined, without markers */
	PLOT_BAND,   /* the area from low to high */
	PLOT_GAIN,   /* a bar from 1 to x in row y, whose interval lies along x */
	PLOT_RANGE   /* a hollow bar from low to high in row y */
};

struct plot_tick {
	double at;
	char label[48];
};

struct plot_axis {
	double low, high;
	struct plot_tick ticks[PLOT_TICKS];
	size_t count;
};

/*
 * low and high equal y where there is no interval. In rows they lie along x, and rows
 * are one unit of y high: words above the middle, the bar below.
 */
struct plot_point {
	double x, y, low, high;
};

/* A row's bar lies this far under its middle. */
#define PLOT_ROW_TOP .02
#define PLOT_ROW_END .34

/* Words whose middle line is at y, beginning at x, or ending there if `end`. */
struct plot_label {
	double x, y;
	bool end;
	char text[96];
};

struct plot_series {
	const char *name;
	enum plot_style style;
	enum plot_ink ink;
	bool hollow;
	struct plot_point *points;
	size_t count;
};

struct plot {
	const char *id, *title;
	const char *about; /* what can be read from it, one sentence */
	const char *x_label;
	struct plot_axis x, y;
	struct plot_series series[PLOT_SERIES];
	size_t count;
	struct plot_label labels[PLOT_LABELS];
	size_t label_count;
	int rows; /* of a plot that is made of them; else 0 */
};

/* Adds an empty series. */
struct plot_series *plot_add(struct plot *plot, const char *name, enum plot_style style,
			     enum plot_ink ink);

/* Adds a point unless it can't be drawn (not finite, or beyond 1e15). 0 or -ENOMEM. */
int plot_point(struct plot_series *series, double x, double y, double low, double high);

/* Adds a tick; more than there is room for are left out. */
void plot_tick(struct plot_axis *axis, double at, const char *label);

/* Adds a label; more than there is room for are left out. */
void plot_label(struct plot *plot, double x, double y, bool end, const char *text);

/* Height of the picture, and its left margin: rows have no ticks there. */
int plot_height(const struct plot *plot);
int plot_left(const struct plot *plot);

/* Sets an axis around low .. high, with round ticks that end in `unit`. */
void plot_scale(struct plot_axis *axis, double low, double high, const char *unit);

/* Sets the y axis from 0 to what the points need, with round ticks that end in `unit`. */
void plot_scale_y(struct plot *plot, const char *unit);

/* Sets the x axis from 0 to what the points need, with round ticks. */
void plot_scale_x(struct plot *plot);

/* True when a series has something to show. */
bool plot_has_points(const struct plot *plot);

void plot_free(struct plot *plot);

/*
 * Draws by gnuplot, from PATH, in at most PLOT_SECONDS: an <svg> element for an HTML
 * page, whose ids begin with the plot's. Returns 0 or -errno: no gnuplot, it failed,
 * or its time was up and it was killed.
 */
enum { PLOT_SECONDS = 5 };
int plot_by_gnuplot(const struct plot *plot, FILE *out, struct error *err);

/* Draws the same by ourselves. */
void plot_by_hand(const struct plot *plot, FILE *out);

/* Begins the <svg> element, with its name for those who can't see it. */
void plot_begin_svg(const struct plot *plot, FILE *out);

/* The plots of a profile, in the order of the report. Each makes one; 0 or -ENOMEM. */
typedef int plot_maker(const struct profile *profile, struct plot *plot);
plot_maker plot_gains, plot_verifications, plot_prep_curve, plot_fetch_curve,
	plot_windows, plot_cache, plot_prep_times, plot_fetch_times, plot_sizes;

/* Predictions over cores and over the cache's share, with what was measured. */
typedef int plot_curve_maker(const struct profile *profile,
			     const struct whatif_curves *curves, struct plot *plot);
plot_curve_maker plot_cores, plot_shares;

#endif
