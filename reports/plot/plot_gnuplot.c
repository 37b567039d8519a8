/*
 * plot_gnuplot.c - draws a plot by gnuplot, started without a shell.
 *
 *	script -> memory file -> gnuplot -> memory file -> rewritten for the page
 *
 * Files in memory instead of pipes, so that neither side waits for the other's bytes:
 * we wait for its end alone. Colours are passed as rgb(1, 2, ink) and become the page's
 * variables; ids get the plot's name, as several plots stand in one page.
 */
#include "reports/plot/plot.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_SVG = 8 << 20 };

/* How gnuplot spells a marker, filled and hollow. */
static int plot_gnuplot_marker(const struct plot_series *series)
{
	int filled = series->ink == PLOT_COMPUTE ? 7
		     : series->ink == PLOT_PREP  ? 5
		     : series->ink == PLOT_COPY  ? 13
						 : 9;

	return series->hollow ? filled - 1 : filled;
}

/* gnuplot takes labels of ticks for formats. */
static void write_tick(FILE *script, const struct plot_tick *tick)
{
	putc('"', script);
	for (const char *c = tick->label; *c != '\0'; c++)
		fprintf(script, *c == '%' ? "%%%%" : "%c", *c);
	fprintf(script, "\" %.9g", tick->at);
}

static void write_ticks(FILE *script, const char *name, const struct plot_axis *axis)
{
	fprintf(script, "set %srange [%.9g:%.9g]\n", name, axis->low, axis->high);
	if (axis->count == 0) {
		fprintf(script, "unset %stics\n", name);
		return;
	}
	fprintf(script, "set %stics (", name);
	for (size_t i = 0; i < axis->count; i++) {
		fputs(i == 0 ? "" : ", ", script);
		write_tick(script, &axis->ticks[i]);
	}
	fputs(")\n", script);
}

/* The line that the bar of each row is seen from. */
static void write_base(FILE *script, size_t number)
{
	double reach = .1;

	fprintf(script,
		", $s%zu using (1):($2-%g):(0):(%g) with vectors nohead linewidth 1 "
		"linecolor rgb \"#0102%02x\"",
		number, PLOT_ROW_END + reach, PLOT_ROW_END - PLOT_ROW_TOP + 2 * reach,
		PLOT_AXIS);
}

/* Bars of rows, and over them their intervals. */
static void write_gain(FILE *script, size_t number, const struct plot_series *series)
{
	fprintf(script,
		"$s%zu using 1:2:($1<1?$1:1):($1<1?1:$1):($2-%g):($2-%g) with "
		"boxxyerror linecolor rgb \"#0102%02x\", $s%zu using 1:($2-%g):3:4 "
		"with xerrorbars pointtype 0 linewidth 1 linecolor rgb \"#0102%02x\"",
		number, PLOT_ROW_END, PLOT_ROW_TOP, series->ink, number,
		(PLOT_ROW_TOP + PLOT_ROW_END) / 2, PLOT_TEXT);
	write_base(script, number);
}

static void write_range(FILE *script, size_t number, const struct plot_series *series)
{
	fprintf(script,
		"$s%zu using 1:2:3:4:($2-%g):($2-%g) with boxxyerror fillstyle empty "
		"border dashtype (3,2) linecolor rgb \"#0102%02x\"",
		number, PLOT_ROW_END, PLOT_ROW_TOP, series->ink);
	write_base(script, number);
}

static void write_band(FILE *script, size_t number, const struct plot_series *series)
{
	fprintf(script,
		"$s%zu using 1:3:4 with filledcurves fillstyle transparent solid %s "
		"noborder linecolor rgb \"#0102%02x\"",
		number, series->hollow ? "0.12" : "0.25", series->ink);
}

static void write_style(FILE *script, size_t number, const struct plot_series *series)
{
	static const char *const styles[] = {
		[PLOT_POINTS] = "using 1:2 with points pointsize 0.8",
		[PLOT_CURVE] = "using 1:2:3:4 with yerrorlines linewidth 2",
		[PLOT_DASHED] = "using 1:2:3:4 with yerrorlines linewidth 2 dt (6,5)",
		[PLOT_LEVEL] = "using 1:2 with lines linewidth 1.5 dashtype (2,4)",
		[PLOT_BARS] = "using 1:2 with boxes",
		[PLOT_ERRORS] = "using 1:2:3:4 with yerrorbars linewidth 1.5",
		[PLOT_LINE] = "using 1:2 with lines linewidth 2",
	};

	fprintf(script, "$s%zu %s linecolor rgb \"#0102%02x\"", number,
		styles[series->style], series->ink);
	if (series->style != PLOT_LEVEL && series->style != PLOT_BARS &&
	    series->style != PLOT_LINE)
		fprintf(script, " pointtype %d", plot_gnuplot_marker(series));
}

static void write_series(FILE *script, size_t number, const struct plot_series *series)
{
	if (series->style == PLOT_GAIN)
		write_gain(script, number, series);
	else if (series->style == PLOT_RANGE)
		write_range(script, number, series);
	else if (series->style == PLOT_BAND)
		write_band(script, number, series);
	else
		write_style(script, number, series);
}

static void write_frame(const struct plot *plot, FILE *script)
{
	double width = PLOT_WIDTH, height = plot_height(plot);

	fprintf(script,
		"set encoding utf8\n"
		"set terminal svg size %d,%d dynamic noenhanced font \"inherit,12\" "
		"linewidth 1\n"
		"unset key\nset border 1 linecolor rgb \"#0102%02x\"\n"
		"set tics nomirror scale 0.5,0 textcolor rgb \"#0102%02x\"\n"
		"set ytics scale 0\n"
		"set grid ytics linetype 1 linecolor rgb \"#0102%02x\" linewidth 1\n"
		"set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
		"set tmargin at screen %.4f\nset bmargin at screen %.4f\n"
		"set errorbars 0.5\nset pointsize 0.9\nset boxwidth 0.92\nset style "
		"fill solid 1 noborder\n"
		"set xlabel \"%s\" textcolor rgb \"#0102%02x\" offset 0,0.3\n",
		PLOT_WIDTH, plot_height(plot), PLOT_AXIS, PLOT_TEXT, PLOT_GRID,
		plot_left(plot) / width, 1 - PLOT_RIGHT / width, 1 - PLOT_TOP / height,
		PLOT_BOTTOM / height, plot->x_label, PLOT_TEXT);
	write_ticks(script, "x", &plot->x);
	write_ticks(script, "y", &plot->y);
	for (size_t i = 0; i < plot->label_count; i++)
		fprintf(script,
			"set label \"%s\" at %.9g,%.9g %s textcolor rgb "
			"\"#0102%02x\"\n",
			plot->labels[i].text, plot->labels[i].x, plot->labels[i].y,
			plot->labels[i].end ? "right" : "left", PLOT_TEXT);
}

static void write_script(const struct plot *plot, FILE *script)
{
	const char *before = "plot ";

	write_frame(plot, script);
	for (size_t i = 0; i < plot->count; i++) {
		const struct plot_series *series = &plot->series[i];

		fprintf(script, "$s%zu << END\n", i);
		for (size_t at = 0; at < series->count; at++)
			fprintf(script, "%.9g %.9g %.9g %.9g\n", series->points[at].x,
				series->points[at].y, series->points[at].low,
				series->points[at].high);
		fputs("END\n", script);
	}
	for (size_t i = 0; i < plot->count; i++) {
		if (plot->series[i].count == 0)
			continue;
		fputs(before, script);
		write_series(script, i, &plot->series[i]);
		before = ", ";
	}
	putc('\n', script);
}

/* The script in a file in memory, at its begin; -errno. */
static int script_file(const struct plot *plot)
{
	int fd = memfd_create("dsa-plot-script", MFD_CLOEXEC);
	FILE *script = fd < 0 ? NULL : fdopen(dup(fd), "w");

	if (script == NULL)
		goto failed;
	write_script(plot, script);
	if (fclose(script) == EOF || lseek(fd, 0, SEEK_SET) < 0)
		goto failed;
	return fd;
failed:
	if (fd >= 0)
		close(fd);
	return -EIO;
}

/* Starts gnuplot in a new process group. 0 or -errno. */
static int plot_gnuplot_start(int script, int svg, pid_t *pid)
{
	char name[] = "gnuplot", defaults[] = "-d";
	char *const argv[] = {name, defaults, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int result;

	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_adddup2(&files, script, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, svg, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY,
					 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	result = posix_spawnp(pid, name, &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -result;
}

/* Waits for its end, and makes it end when its time is up. 0 or -errno. */
static int plot_gnuplot_finish(pid_t pid)
{
	uint64_t deadline = clock_now() + PLOT_SECONDS * 1000000000ull;
	/* glibc has a function for it since 2.36 alone. */
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0),
			       .events = POLLIN};
	int status = 0, ready = 0;

	while (ended.fd >= 0 && ready == 0 && clock_now() < deadline) {
		uint64_t left = (deadline - clock_now()) / 1000000;

		ready = poll(&ended, 1, left > PLOT_SECONDS * 1000 ? 1 : (int)left + 1);
		if (ready < 0 && errno == EINTR)
			ready = 0;
	}
	if (ready <= 0)
		kill(-pid, SIGKILL);
	if (ended.fd >= 0)
		close(ended.fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (ready <= 0)
		return -ETIMEDOUT;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* What was drawn, as a string; NULL: nothing that could be used. */
static char *plot_gnuplot_take(int svg)
{
	struct stat about;
	char *text;

	if (fstat(svg, &about) < 0 || about.st_size == 0 || about.st_size > MAX_SVG)
		return NULL;
	text = calloc(1, (size_t)about.st_size + 1);
	if (text != NULL &&
	    pread(svg, text, (size_t)about.st_size, 0) != about.st_size) {
		free(text);
		return NULL;
	}
	return text;
}

/* If text begins with rgb(1, 2, ink): its length and the ink. */
static size_t rgb_length(const char *text, int *ink)
{
	int red, green, length = 0;

	if (strncmp(text, "rgb(", 4) != 0 ||
	    sscanf(text, "rgb( %d , %d , %d )%n", &red, &green, ink, &length) != 3 ||
	    red != 1 || green != 2)
		return 0;
	return (size_t)length;
}

/* What stands in gnuplot's SVG, and what the page needs; % is the plot's id. */
static const struct {
	const char *from, *to;
} rewrites[] = {
	{"id=\"", "id=\"%-"},
	{"id='", "id='%-"},
	{"xlink:href='#", "href='#%-"},
	{"url(#", "url(#%-"},
	{" color=\"black\"", ""},
	{" color=\"white\"", ""},
	{" font-family=\"inherit\"", ""},
	{" fill = '", " fill='"},
	{" points = '", " points='"},
	{" fill-opacity = '", " fill-opacity='"},
};

static size_t plot_gnuplot_rewrite(const struct plot *plot, const char *text, FILE *out)
{
	int ink = 0;
	size_t length = rgb_length(text, &ink);

	if (length > 0) {
		fprintf(out, "var(--ink-%d)", ink);
		return length;
	}
	for (size_t i = 0; i < sizeof(rewrites) / sizeof(rewrites[0]); i++) {
		const char *to = rewrites[i].to, *id;

		length = strlen(rewrites[i].from);
		if (strncmp(text, rewrites[i].from, length) != 0)
			continue;
		id = strchr(to, '%');
		if (id == NULL)
			fputs(to, out);
		else
			fprintf(out, "%.*s%s%s", (int)(id - to), to, plot->id, id + 1);
		return length;
	}
	if (strncmp(text, "<title>", 7) == 0) {
		const char *end = strstr(text, "</title>");

		return end == NULL ? strlen(text) : (size_t)(end - text) + 8;
	}
	putc(*text, out);
	return 1;
}

/* Writes the canvas of gnuplot's SVG as an element of the page. */
static int plot_gnuplot_adopt(const struct plot *plot, char *svg, FILE *out)
{
	char *canvas = strstr(svg, "<g id=\"gnuplot_canvas\">");
	char *end = canvas == NULL ? NULL : strstr(canvas, "</svg>");

	if (end == NULL || strcasestr(canvas, "<script") != NULL)
		return -EBADMSG;
	*end = '\0';
	plot_begin_svg(plot, out);
	while (*canvas != '\0')
		canvas += plot_gnuplot_rewrite(plot, canvas, out);
	fputs("</svg>\n", out);
	return 0;
}

int plot_by_gnuplot(const struct plot *plot, FILE *out, struct error *err)
{
	int script = script_file(plot), svg = memfd_create("dsa-plot", MFD_CLOEXEC);
	char *text = NULL;
	pid_t pid = -1;
	int result =
		script < 0 || svg < 0 ? -EIO : plot_gnuplot_start(script, svg, &pid);

	if (result == 0)
		result = plot_gnuplot_finish(pid);
	if (result == 0) {
		text = plot_gnuplot_take(svg);
		result = text == NULL ? -EBADMSG : plot_gnuplot_adopt(plot, text, out);
	}
	free(text);
	if (script >= 0)
		close(script);
	if (svg >= 0)
		close(svg);
	return result < 0 ? error_sys(err, -result, "gnuplot drew nothing") : 0;
}
