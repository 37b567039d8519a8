#include "reports/terminal.h"
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/escape.h"
#include "reports/format.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 80, INDENT = 2, LABEL = 11, WIDTH = COLUMNS - INDENT };

static const char *const colours[] = {"\x1b[32m", "\x1b[33m", "\x1b[34m"};
static const char plain[] = "\x1b[0m", bold[] = "\x1b[1m", dim[] = "\x1b[2m";

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

struct form_style terminal_style(FILE *out)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return (struct form_style){
		.colour = (none == NULL || *none == '\0') && terminal != NULL &&
			  strcmp(terminal, "dumb") != 0 && isatty(fileno(out)),
		.ascii = !says_utf8(),
	};
}

/* Where the lines gather, so that they can be wrapped and put into ASCII at the end. */
struct box {
	const struct profile *profile;
	const struct form_style *style;
	FILE *out;
	bool failed; /* memory was short */
};

static const char *ink(const struct box *box, const char *colour)
{
	return box->style->colour ? colour : "";
}

/* Writes words from column `at` on, breaking lines between them. */
static void wrap(FILE *out, const char *words, size_t at)
{
	size_t column = at;

	while (*words != '\0') {
		size_t length = strcspn(words, " ");
		size_t width = escape_width_part(words, length);

		if (column > at && column + 1 + width > COLUMNS) {
			fprintf(out, "\n%*s", (int)at, "");
			column = at;
		} else if (column > at) {
			putc(' ', out);
			column++;
		}
		escape_part(out, words, length);
		column += width;
		words += length + strspn(words + length, " ");
	}
}

/* A line "label      words", wrapped. */
static void line(struct box *box, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void line(struct box *box, const char *label, const char *format, ...)
{
	char *words = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&words, format, args) < 0) {
		box->failed = true;
		words = NULL;
	}
	va_end(args);
	fprintf(box->out, "%*s%s%-*s%s", INDENT, "", ink(box, dim), LABEL, label,
		ink(box, plain));
	if (words != NULL)
		wrap(box->out, words, INDENT + LABEL);
	putc('\n', box->out);
	free(words);
}

/* "1912 of a possible 3840 samples/s", to be freed; empty where unknown. */
static char *rates(struct box *box)
{
	const struct profile_rates *known = &box->profile->rates;
	char real[FORMAT_SIZE], possible[FORMAT_SIZE], *text = NULL;
	int length;

	format_rate(real, known->real.value);
	format_rate(possible, known->synthetic.value);
	if (!isfinite(known->real.value))
		length = asprintf(&text, "%s", "");
	else if (!isfinite(known->synthetic.value))
		length = asprintf(&text, "%s samples/s", real);
	else
		length = asprintf(&text, "%s of a possible %s samples/s", real,
				  possible);
	box->failed |= length < 0;
	return length < 0 ? NULL : text;
}

/* Writes at most `room` characters, the end of text. Returns how many. */
static size_t fit(const struct box *box, const char *text, size_t room)
{
	const char *cut;

	text = escape_tail(text, room, &cut);
	fputs(cut, box->out);
	escape_plain(box->out, text);
	return strlen(cut) + escape_width(text);
}

/* "images/ · 4 workers · minio cache 35%      1912 of a possible 3840 samples/s" */
static void head(struct box *box)
{
	const char *dataset = box->profile->dataset;
	char *how = format_string(format_setup, box->profile), *rate = rates(box);
	size_t right = rate == NULL ? 0 : strlen(rate), left, room;

	box->failed |= how == NULL;
	left = how == NULL ? 0 : escape_width(how);
	room = WIDTH > right + left + 5 ? WIDTH - right - left - 5 : 0;
	fprintf(box->out, "%*s%s", INDENT, "", ink(box, bold));
	room = fit(box, dataset == NULL ? "no data set known" : dataset,
		   room > 12 ? room : 12);
	fputs(ink(box, plain), box->out);
	if (left > 0) {
		fputs(" · ", box->out);
		room += 3 + fit(box, how, WIDTH - 16);
	}
	if (room + 2 + right > WIDTH)
		fprintf(box->out, "\n%*s%s\n", INDENT, "", rate == NULL ? "" : rate);
	else
		fprintf(box->out, "%*s\n", (int)(WIDTH - room),
			rate == NULL ? "" : rate);
	free(how);
	free(rate);
}

static void shares(const struct box *box, const long tenths[3])
{
	static const char *const names[] = {"compute", "prep stall", "fetch stall"};
	const struct profile_stalls *stalls = &box->profile->stalls;
	const struct interval *all[] = {&stalls->compute, &stalls->prep,
					&stalls->fetch};
	char share[FORMAT_SIZE], half[FORMAT_SIZE];

	fprintf(box->out, "%*s", INDENT, "");
	for (int i = 0; i < 3; i++) {
		format_points(half, all[i]);
		fprintf(box->out, "%s%s %s%s%s%s%s", i == 0 ? "" : " | ", names[i],
			ink(box, bold), format_tenth(share, tenths[i]), ink(box, plain),
			*half == '\0' ? "" : " ", half);
	}
	putc('\n', box->out);
}

/* The shares as a bar; negative ones have no length. */
static void bar(const struct box *box, const long tenths[3], bool sums)
{
	static const char *const cells[] = {"█", "▒", "░"};
	enum { CELLS = WIDTH - 16 };
	double part[3], sum = 0;
	long length[3];

	for (int i = 0; i < 3; i++)
		sum += part[i] = tenths[i] > 0 ? (double)tenths[i] : 0;
	for (int i = 0; i < 3; i++)
		part[i] /= sum;
	if (!format_tenths(part, 3, length))
		return;
	fprintf(box->out, "%*s", INDENT, "");
	for (int i = 0, begin = 0; i < 3; i++) {
		long end = begin + length[i];

		fputs(ink(box, colours[i]), box->out);
		for (long at = begin * CELLS / 1000; at < end * CELLS / 1000; at++)
			fputs(cells[i], box->out);
		begin = (int)end;
	}
	fprintf(box->out, "%s%s\n", ink(box, plain), sums ? "  sums to 100.0%" : "");
}

static void stalls(struct box *box)
{
	char *verdict = format_string(format_verdict, box->profile);
	long tenths[3];

	if (isfinite(box->profile->stalls.compute.value)) {
		bool sums = format_stalls(box->profile, tenths);

		shares(box, tenths);
		bar(box, tenths, sums);
	}
	box->failed |= verdict == NULL;
	fprintf(box->out, "\n%*s", INDENT, "");
	wrap(box->out, verdict == NULL ? "" : verdict, INDENT);
	fputs("\n\n", box->out);
	free(verdict);
}

static void limit(struct box *box)
{
	const struct profile *profile = box->profile;

	if (profile->limit != NULL)
		line(box, "limit", "%s%s%s", profile->limit,
		     profile->limit_why == NULL ? "" : ": ",
		     profile->limit_why == NULL ? "" : profile->limit_why);
}

/* A line of what format writes, if it does. */
static void sentence(struct box *box, const char *label, format_words *format)
{
	char *text = format_string(format, box->profile);

	box->failed |= text == NULL;
	if (text != NULL && *text != '\0')
		line(box, label, "%s", text);
	free(text);
}

static void proof(struct box *box)
{
	const struct profile *profile = box->profile;
	char prep[FORMAT_SIZE], fetch[FORMAT_SIZE], gap[FORMAT_SIZE] = "";

	if ((!isfinite(profile->proof.prep) && !isfinite(profile->proof.fetch)) ||
	    format_is_observed(profile))
		return;
	if (isfinite(profile->proof_gap))
		snprintf(gap, sizeof(gap), "; within %.1f points",
			 100 * profile->proof_gap);
	line(box, "proof", "prep %s, fetch %s, from the time blocked%s",
	     format_percent(prep, profile->proof.prep),
	     format_percent(fetch, profile->proof.fetch), gap);
}

static void certificates(struct box *box)
{
	const struct profile *profile = box->profile;
	size_t used = 0, certified = 0;

	for (size_t i = 0; i < profile->window_count; i++) {
		used += profile->windows[i].used;
		certified += profile->windows[i].used && profile->windows[i].certified;
	}
	if (profile->window_count > 0)
		line(box, "windows", "%zu of %zu used, %zu of them certified", used,
		     profile->window_count, certified);
}

static void skips(struct box *box)
{
	const struct profile *profile = box->profile;
	const struct profile_skip *first = profile->skips;
	char count[FORMAT_SIZE];

	if (profile->skipped == UNKNOWN || profile->skipped == 0)
		return;
	if (profile->skip_count == 0 || first->name == NULL)
		line(box, "skipped", "%s samples",
		     format_count(count, profile->skipped));
	else
		line(box, "skipped", "%s sample%s, first: %s: %s",
		     format_count(count, profile->skipped),
		     profile->skipped == 1 ? "" : "s", first->name,
		     first->reason == NULL ? "no reason known" : first->reason);
}

/* Everything beyond ASCII becomes something like it. */
static void write_ascii(FILE *out, const char *text)
{
	static const struct {
		const char *character, *like;
	} table[] = {{"±", "+-"}, {"·", "|"}, {"█", "#"}, {"▒", "="}, {"░", "."}};
	char piece[ESCAPE_PIECE];

	while (*text != '\0') {
		const char *like = "?";
		size_t length = 1;

		if ((unsigned char)*text < 0x80) {
			putc(*text++, out);
			continue;
		}
		length = escape_next(text, piece);
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
			if (strcmp(piece, table[i].character) == 0)
				like = table[i].like;
		fputs(like, out);
		text += length;
	}
}

static void write_box(struct box *box)
{
	putc('\n', box->out);
	head(box);
	stalls(box);
	limit(box);
	sentence(box, "emulated", format_emulated);
	proof(box);
	certificates(box);
	sentence(box, "overhead", format_overhead);
	skips(box);
	sentence(box, "ended", format_ending);
	if (box->style->where != NULL)
		line(box, "report", "%s", box->style->where);
	putc('\n', box->out);
}

int terminal_write(const struct profile *profile, const struct form_style *style,
		   FILE *out, struct error *err)
{
	char *text = NULL;
	size_t size = 0;
	struct box box = {profile, style, open_memstream(&text, &size), false};

	if (box.out == NULL)
		return error_set(err, ENOMEM, "no memory for the verdict");
	write_box(&box);
	if (fclose(box.out) == EOF || text == NULL || box.failed) {
		free(text);
		return error_set(err, ENOMEM, "no memory for the verdict");
	}
	if (style->ascii)
		write_ascii(out, text);
	else
		fputs(text, out);
	free(text);
	return 0;
}
