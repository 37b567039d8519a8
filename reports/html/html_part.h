/*
 * html_part.h - what the parts of HTML pages share. Only those who write one use it.
 *
 * Every text from outside goes through html_text() or a cell; all else in the page is
 * a constant of this program.
 */
#ifndef DSA_HTML_PART_H
#define DSA_HTML_PART_H

#include "profiler/profile.h"
#include "reports/common/file.h"
#include "reports/common/format.h"

#include <stdio.h>

struct plot;

struct html {
	const struct profile *profile;
	FILE *out;
	bool *failed;  /* set when memory was short and something is missing */
	bool *by_hand; /* gnuplot failed once: it gets no other chance */
};

extern const char html_style[]; /* reports/html/style.css */

/* Parts, in the order of the page. Those without numbers write nothing. */
void html_head(const struct html *html);         /* verdict, how it was loaded */
void html_shares(const struct html *html);       /* stacked bar with intervals */
void html_limit(const struct html *html);        /* what limits it, the rates */
void html_parts(const struct html *html);        /* prep by transform */
void html_jobs(const struct html *html);         /* jobs measured together */
void html_whatif(const struct html *html);       /* predictions and their proofs */
void html_plots(const struct html *html);        /* curves, distributions */
void html_own(const struct html *html);          /* a loader of the program's own */
void html_gpu(const struct html *html);          /* what devices did */
void html_ranks(const struct html *html);        /* what ranks waited */
void html_proof(const struct html *html);        /* second proof */
void html_certificates(const struct html *html); /* windows, overhead */
void html_skips(const struct html *html);
void html_setting(const struct html *html); /* configuration, machine, counters */
void html_repeat(const struct html *html);  /* the command */

/* Begins the page: all up to <body>, with the end of a title from outside. */
void html_begin(FILE *out, const char *title);

/* Ends the page: who made it, what is embedded ("result"), which command prints that; then
 * JSON that `fill` writes, in the element #result. 0 or -errno. */
struct html_end {
	const char *version, *what, *command;
	file_fill *fill;
	const void *context;
};
int html_end(FILE *out, const struct html_end *end, struct error *err);

/* Begins a section with its heading. */
void html_section(FILE *out, const char *id, const char *title);

/* The shares as one bar, which need a compute share; none where their intervals are too
 * wide (profile_has_shares()). `id` begins its ids; the patterns
 * of all bars and swatches of a page come with the first one. */
void html_bar(FILE *out, const struct profile *profile, const char *id, bool first);

/* A small square that looks like stage i in the bar. */
void html_swatch(FILE *out, int i);

/* Text from outside, escaped; nothing for NULL. */
void html_text(FILE *out, const char *text);

/* The same of a sentence: no line ends within an option. */
void html_sentence(FILE *out, const char *text);

/* What format writes, as a sentence. */
void html_words(const struct html *html, format_words *format);

/* The same as a paragraph with a title, and `more` sentences behind; nothing if it writes none.
 * `attributes` are those of the paragraph, " class=..." or "". */
void html_note(const struct html *html, const char *attributes, const char *title,
	       format_words *format, const char *more);

/*
 * A table that scrolls where the page is narrow. heads: "Workers#|Samples/s#|Why",
 * "#" marks a column of numbers.
 */
void html_table(FILE *out, const char *caption, const char *heads);
void html_table_end(FILE *out);

/* Heads of the stages' columns, "Compute#|Prep#|Fetch#|"; and their cells. */
const char *html_stage_heads(char to[FORMAT_STAGES], const struct profile *profile);
void html_stage_cells(const struct html *html, const struct interval stalls[STAGES],
		      bool balanced);

void html_cell(FILE *out, const char *text);   /* escaped; NULL is a dash */
void html_number(FILE *out, const char *text); /* from format.h */

/* Begins the row of a window with when it started. */
void html_start(FILE *out, double start_s);

/* Shows a plot, which it frees, with its legend, and to be opened what `numbers` writes of
 * it, if not NULL; nothing where it has no points or was not made (made < 0). */
typedef void html_numbers(const struct html *html);
void html_figure(const struct html *html, struct plot *plot, int made,
		 html_numbers *numbers);

/* A row of two cells: a name and escaped text; nothing when text is NULL. */
void html_pair(FILE *out, const char *name, const char *text);

/* "1890 to 1935", or "n/a". */
const char *html_range(char to[FORMAT_RANGE], const struct interval *interval);

#endif
