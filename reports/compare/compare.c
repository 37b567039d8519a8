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

/* FORMS: none. */
static size_t compare_find(const char *form)
{
	size_t at = 0;

	while (at < FORMS && strcmp(table[at].name, form) != 0)
		at++;
	return at;
}

int compare_check(const char *form, struct error *err)
{
	char names[64] = "";

	if (compare_find(form) < FORMS)
		return 0;
	for (size_t i = 0; i < FORMS; i++) {
		strcat(names, " ");
		strcat(names, table[i].name);
	}
	return error_set(err, EINVAL,
			 "no form of a comparison is called '%s'; there are:%s", form,
			 names);
}

int compare_write(const char *form, const struct compare *compare,
		  const struct form_style *style, FILE *out, struct error *err)
{
	struct compare_rows rows;
	int result = compare_check(form, err);

	if (result < 0)
		return result;
	result = compare_rows_init(compare, &rows);
	if (result < 0)
		error_set(err, -result, "no memory for the comparison");
	else
		result = table[compare_find(form)].write(compare, &rows, style, out,
							 err);
	compare_rows_fini(&rows);
	return result;
}
