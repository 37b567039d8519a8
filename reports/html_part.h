/*
 * html_part.h - what the parts of the HTML report share. Only reports/html*.c use it.
 *
 * Every text from outside goes through html_text() or a cell; all else in the page is
 * a constant of this program.
 */
#ifndef DSA_HTML_PART_H
#define DSA_HTML_PART_H

#include "profiler/profile.h"
#include "reports/format.h"

#include <stdio.h>

struct plot;

struct html {
	const struct profile *profile;
	FILE *out;
	bool *failed;  /* set when memory was short and something is missing */
	bool *by_hand; /* gnuplot failed once: it gets no other chance */
};

extern const char html_style[]; /* reports/style.css */

/* Parts, in the order of the page. Those without numbers write nothing. */
void html_head(const struct html *html);         /* verdict, how it was loaded */
void html_shares(const struct html *html);       /* stacked bar with intervals */
void html_limit(const struct html *html);        /* what limits it, the rates */
void html_whatif(const struct html *html);       /* predictions and their proofs */
void html_plots(const struct html *html);        /* curves, distributions */
void html_proof(const struct html *html);        /* second proof */
void html_certificates(const struct html *html); /* windows, overhead */
void html_skips(const struct html *html);
void html_setting(const struct html *html); /* configuration, machine, counters */
void html_repeat(const struct html *html);  /* the command */

/* Text from outside, escaped; nothing for NULL. */
void html_text(FILE *out, const char *text);

/* What format writes, escaped. */
void html_words(const struct html *html, format_words *format);

/*
 * A table that scrolls where the page is narrow. heads: "Workers#|Samples/s#|Why",
 * "#" marks a column of numbers.
 */
void html_table(FILE *out, const char *caption, const char *heads);
void html_table_end(FILE *out);
void html_cell(FILE *out, const char *text);   /* escaped; NULL is a dash */
void html_number(FILE *out, const char *text); /* from format.h */

/* A plot with its legend, and to be opened what `numbers` writes of it, if not NULL. */
typedef void html_numbers(const struct html *html);
void html_figure(const struct html *html, const struct plot *plot,
		 html_numbers *numbers);

/* A row of two cells: a name and escaped text; nothing when text is NULL. */
void html_pair(FILE *out, const char *name, const char *text);

/* "1890 to 1935", or "n/a". */
const char *html_range(char *to, const struct interval *interval);

#endif
