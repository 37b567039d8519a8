/* compare.c - picks the form of a comparison by its name. */
#include "reports/compare/compare.h"
#include "loader/base/error.h"
#include "reports/compare/compare_part.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	compare_form *write;
} table[] = {
	{"text", compare_text},
	{"json", compare_json},
	{"html", compare_html},
	{"markdown", compare_markdown},
};

enum { FORMS = sizeof(table) / sizeof(table[0]) };

/* The form's place in the table, or -EINVAL. */
static int compare_find(const char *form, struct error *err)
{
	for (int i = 0; i < FORMS; i++)
		if (strcmp(table[i].name, form) == 0)
			return i;
	return error_set(err, EINVAL, "no form of a comparison is called '%s'", form);
}

int compare_write(const char *form, const struct compare *compare,
		  const struct form_style *style, FILE *out, struct error *err)
{
	struct compare_rows rows;
	int at = compare_find(form, err), result;

	if (at < 0)
		return at;
	result = compare_rows_init(compare, &rows);
	if (result < 0)
		error_set(err, -result, "no memory for the comparison");
	else
		result = table[at].write(compare, &rows, style, out, err);
	compare_rows_fini(&rows);
	return result;
}
