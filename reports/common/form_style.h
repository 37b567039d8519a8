/* form_style.h - how a form of a profile is written: what every writer of one takes. */
#ifndef DSA_FORM_STYLE_H
#define DSA_FORM_STYLE_H

#include <stdbool.h>
#include <stdio.h>

struct error;
struct profile;

/* How to write. All zero is right for a file. */
struct form_style {
	bool colour;       /* text: ANSI colours */
	bool ascii;        /* text: nothing beyond ASCII */
	unsigned columns;  /* text: of the terminal; 0: there is none */
	const char *where; /* text: the report's path; or NULL */
	const char *next;  /* text: a command to go on with, the last line; or NULL */
};

/*
 * Writes profile to out. Returns 0 or -errno; a failure of out may also show in
 * ferror(out) alone.
 */
typedef int form_write(const struct profile *profile, const struct form_style *style,
		       FILE *out, struct error *err);

/* Forms without a header of their own; form.c has the table. */
form_write csv_write, html_write, markdown_write;

#endif
