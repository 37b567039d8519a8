/* terminal.c - the verdict box: shares, limit, evidence. */
#include "reports/terminal/terminal.h"
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/common/escape.h"
#include "reports/common/format.h"
#include "reports/terminal/box.h"
#include "reports/terminal/whatif_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ADVICE = 3 }; /* lines of it; dsa whatif shows all */

static bool says_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && *value != '\0')
			return strcasestr(value, "utf-8") != NULL ||
			       strcasestr(value, "utf8") != NULL;
	}
	return false;
}

/* Of the terminal, or as COLUMNS says; 0: neither. */
static unsigned terminal_columns(FILE *out)
{
	const char *asked = getenv("COLUMNS");
	struct winsize size = {0};

	if (asked != NULL && atoi(asked) > 0)
		return (unsigned)atoi(asked);
	return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct form_style terminal_style(FILE *out)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return (struct form_style){
		.colour = (none == NULL || *none == '\0') && terminal != NULL &&
			  strcmp(terminal, "dumb") != 0 && isatty(fileno(out)),
		.ascii = !says_utf8(),
		.columns = terminal_columns(out),
	};
}

/* Writes at most `room` characters, the end of text. Returns how many. */
static size_t terminal_fit(const struct box *box, const char *text, size_t room)
{
	const char *cut;

	text = escape_tail(text, room, &cut);
	fputs(cut, box->out);
	escape_plain(box->out, text);
	return strlen(cut) + escape_width(text);
}

/* "images/ · 4 workers · minio cache 35%      1912 of a possible 3840 samples/s" */
static void terminal_head(struct box *box, const struct profile *profile)
{
	const char *dataset = profile->dataset;
	char *how = format_string(format_setup, profile),
	     *rate = format_string(format_rates, profile);
	size_t right = rate == NULL ? 0 : strlen(rate), left, room,
	       width = box->columns - BOX_INDENT;

	box->failed |= how == NULL || rate == NULL;
	left = how == NULL ? 0 : escape_width(how);
	room = width > right + left + 5 ? width - right - left - 5 : 0;
	fprintf(box->out, "%*s%s", BOX_INDENT, "", box_ink(box, BOX_BOLD));
	room = terminal_fit(box, dataset == NULL ? "no data set known" : dataset,
			    room > 12 ? room : 12);
	fputs(box_ink(box, BOX_PLAIN), box->out);
	if (left > 0) {
		fputs(" · ", box->out);
		room += 3 + terminal_fit(box, how, width - 16);
	}
	if (room + 2 + right > width)
		fprintf(box->out, "\n%*s%s\n", BOX_INDENT, "",
			rate == NULL ? "" : rate);
	else
		fprintf(box->out, "%*s\n", right > 0 ? (int)(width - room) : 0,
			rate == NULL ? "" : rate);
	free(how);
	free(rate);
}

/* Behind those before it, or on another line where that is full. */
static void terminal_share(const struct box *box, size_t *column, const char *label,
			   long tenth, const struct interval *interval)
{
	char share[FORMAT_SIZE], half[FORMAT_SIZE];
	size_t width;

	format_points(half, interval);
	format_tenth(share, tenth);
	width = strlen(label) + 1 + strlen(share) + (*half != '\0') +
		escape_width(half);
	if (*column > 0 && *column + 3 + width <= box->columns) {
		*column += (size_t)fprintf(box->out, " | ");
	} else {
		fprintf(box->out, "%s%*s", *column > 0 ? "\n" : "", BOX_INDENT, "");
		*column = BOX_INDENT;
	}
	fprintf(box->out, "%s %s%s%s%s%s", label, box_ink(box, BOX_BOLD), share,
		box_ink(box, BOX_PLAIN), *half == '\0' ? "" : " ", half);
	*column += width;
}

/* "compute 49.8% ±0.4 | prep stall 38.1% ±0.6" */
static void terminal_shares(const struct box *box, const struct profile *profile,
			    const long tenths[STAGES])
{
	struct interval wait = format_wait(profile);
	bool whole = format_is_whole(profile);
	size_t column = 0;

	for (int i = 0; i < (whole ? STAGE_COMPUTE + 1 : STAGES); i++)
		if (profile_has_stage(profile, i))
			terminal_share(box, &column, stage_table[i].label, tenths[i],
				       &profile->stalls[i]);
	if (whole)
		terminal_share(box, &column, "data stall", 1000 - tenths[STAGE_COMPUTE],
			       &wait);
	putc('\n', box->out);
}

/* The shares as a bar; negative ones have no length. */
static void terminal_bar(const struct box *box, const long tenths[STAGES], bool sums)
{
	long cells = (long)box->columns - BOX_INDENT - 16;
	double part[STAGES], sum = 0;
	long length[STAGES];

	for (int i = 0; i < STAGES; i++)
		sum += part[i] = tenths[i] > 0 ? (double)tenths[i] : 0;
	for (int i = 0; i < STAGES; i++)
		part[i] /= sum;
	if (!format_tenths(part, STAGES, length))
		return;
	fprintf(box->out, "%*s", BOX_INDENT, "");
	for (int i = 0, begin = 0; i < STAGES; i++) {
		long end = begin + length[i];

		if (length[i] > 0 || !stage_table[i].optional)
			fputs(box->style->colour ? stage_table[i].colour : "",
			      box->out);
		for (long at = begin * cells / 1000; at < end * cells / 1000; at++)
			fputs(stage_table[i].cell, box->out);
		begin = (int)end;
	}
	fprintf(box->out, "%s%s\n", box_ink(box, BOX_PLAIN),
		sums ? "  sums to 100.0%" : "");
}

static void terminal_stalls(struct box *box, const struct profile *profile)
{
	char *verdict = format_string(format_verdict, profile);
	long tenths[STAGES];

	if (isfinite(profile->stalls[STAGE_COMPUTE].value) &&
	    !profile_is_vague(profile)) {
		bool sums = format_stalls(profile->stalls, tenths);

		terminal_shares(box, profile, tenths);
		if (profile_has_shares(profile) && !format_is_whole(profile))
			terminal_bar(box, tenths, sums);
	}
	box->failed |= verdict == NULL;
	putc('\n', box->out);
	box_paragraph(box, verdict == NULL ? "" : verdict, BOX_INDENT);
	putc('\n', box->out);
	free(verdict);
}

/* One line each, where several were measured. */
static void terminal_jobs(struct box *box, const struct profile *profile)
{
	char label[FORMAT_SIZE + 4], number[FORMAT_SIZE];

	for (size_t i = 0; i < profile->job_count; i++) {
		const struct profile_job *job = &profile->jobs[i];

		snprintf(label, sizeof(label), "job %s",
			 format_count(number, job->job));
		box_sentence(box, label, format_job(profile, job));
	}
}

static void terminal_crash(struct box *box, const struct profile *profile)
{
	char *text = format_string(format_crash, profile);

	box->failed |= text == NULL;
	if (text != NULL && *text != '\0') {
		fputs(box_ink(box, BOX_BOLD), box->out);
		box_paragraph(box, text, BOX_INDENT);
		fprintf(box->out, "%s\n", box_ink(box, BOX_PLAIN));
	}
	free(text);
}

static void terminal_write_box(struct box *box, const struct profile *profile)
{
	putc('\n', box->out);
	terminal_crash(box, profile);
	terminal_head(box, profile);
	terminal_stalls(box, profile);
	if (isfinite(profile->stalls[STAGE_COMPUTE].value) &&
	    !profile_is_vague(profile))
		whatif_ranking(box, profile, ADVICE);
	terminal_jobs(box, profile);
	for (const struct format_fact *fact = format_facts; fact->label != NULL; fact++)
		box_sentence(box, fact->label, format_string(fact->words, profile));
	if (box->style->where != NULL)
		box_line(box, "report", "%s", box->style->where);
	box_command(box, "next", box->style->next);
	putc('\n', box->out);
}

int terminal_write(const struct profile *profile, const struct form_style *style,
		   FILE *out, struct error *err)
{
	struct box box;

	if (box_open(&box, style) < 0)
		return error_set(err, ENOMEM, "no memory for the text");
	terminal_write_box(&box, profile);
	return box_close(&box, out, err);
}
