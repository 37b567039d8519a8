/* written.h - verdicts of a gate as its forms write them, and what to look for there. */
#ifndef DSA_TESTS_WRITTEN_H
#define DSA_TESTS_WRITTEN_H

#include "reports/gate/gate_form.h"

#include <stdbool.h>
#include <stddef.h>

enum { WRITTEN_MANY = 10000 }; /* metrics */

/* What stands in a report beside the verdict. */
struct gate_report written_report(const struct gate_verdict *verdict);

/* A report in a form; style: NULL is a file's. To be freed, as all these. */
char *written_form(const char *name, const struct gate_report *report,
		   const struct form_style *style);

/* What people get; and a hostile verdict of so many metrics. */
char *written_usual(const char *name);
char *written_hostile(const char *name, size_t count);

size_t written_count(const char *text, const char *part);

/* These fail the test: unless both are there, in this order; if a character acts on a
 * terminal. */
void written_first(const char *text, const char *before, const char *after);
void written_plain(const char *text);

/* A program is there, by a command that succeeds; what one prints that reads the text as
 * FILE in the scratch folder, to be freed. */
bool written_has(const char *command);
char *written_read_by(const char *command, const char *text, int *status);

#endif
