/*
 * form.h - every form in which a profile can be shown.
 *
 * A form is one file with a form_write function, declared in form_style.h or in a header
 * of its own folder, and one line in form.c's table.
 */
#ifndef DSA_FORM_H
#define DSA_FORM_H

#include "reports/common/form_style.h"

struct form {
	const char *name;
	form_write *write;
};

/* The form of that name, or NULL with err filled. */
const struct form *form_find(const char *name, struct error *err);

/* Writes the form `name` ("json", "html", ...) to path, whole or not at all. */
int form_save(const char *name, const struct profile *profile, const char *path,
	      struct error *err);

#endif
