/*
 * csv.c - the windows of a result as a table: a line each, named columns (the keys of a
 * window in run.json), RFC 4180. Unknown is empty.
 */
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/common/form_style.h"
#include "reports/json/json_part.h"

#include <errno.h>
#include <string.h>

static void csv_write_text(FILE *out, const char *text)
{
	if (strpbrk(text, ",\"\r\n") == NULL) {
		fputs(text, out);
		return;
	}
	putc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

/* Writes a value of run.json, which it frees; null is empty. */
static int csv_write_cell(FILE *out, json_t *value, struct error *err)
{
	if (value == NULL)
		return error_set(err, ENOMEM, "no memory for the table");
	if (json_is_string(value))
		csv_write_text(out, json_string_value(value));
	else if (json_is_real(value))
		fprintf(out, "%.9g", json_real_value(value));
	else if (json_is_integer(value))
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "true" : "false", out);
	json_decref(value);
	return 0;
}

static int csv_write_window(FILE *out, const struct profile_window *window,
			    struct error *err)
{
	int result = 0;

	for (const struct field *field = field_window;
	     result == 0 && field->path != NULL; field++) {
		const void *at = (const char *)window + field->offset;

		fputs(field == field_window ? "" : ",", out);
		result = csv_write_cell(out, json_part_value(field->type, at), err);
	}
	fputs("\r\n", out);
	return result;
}

int csv_write(const struct profile *profile, const struct form_style *style, FILE *out,
	      struct error *err)
{
	int result = 0;

	(void)style;
	for (const struct field *field = field_window; field->path != NULL; field++)
		fprintf(out, "%s%s", field == field_window ? "" : ",", field->path);
	fputs("\r\n", out);
	for (size_t i = 0; result == 0 && i < profile->window_count; i++)
		result = csv_write_window(out, &profile->windows[i], err);
	return result;
}
