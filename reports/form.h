/*
 * form.h - every form in which a profile can be shown.
 *
 * A form is one file with a form_write function plus one line in form.c's table.
 */
#ifndef DSA_FORM_H
#define DSA_FORM_H

#include <stdbool.h>
#include <stdio.h>

struct error;
struct profile;

/* How to write. All zero is right for a file. */
struct form_style {
	bool colour; /* text: ANSI colours */
	bool ascii;  /* text: nothing beyond ASCII */
	const char
		*where; /* text: the report's path, named in the last line; or NULL */
};

/*
 * Writes profile to out. Returns 0 or -errno; a failure of out may also show in
 * ferror(out) alone.
 */
typedef int form_write(const struct profile *profile, const struct form_style *style,
		       FILE *out, struct error *err);

struct form {
	const char *name;
	form_write *write;
};

extern const struct form forms[]; /* ends with a NULL name */

/* The form of that name, or NULL and err names those there are. */
const struct form *form_find(const char *name, struct error *err);

/* Writes the form `name` ("json", "html", ...) to path, whole or not at all. */
int form_save(const char *name, const struct profile *profile, const char *path,
	      struct error *err);

#endif
