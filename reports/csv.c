/* csv.c - the windows of a result as CSV. */
#include "reports/csv.h"
#include "profiler/profile.h"
#include "reports/json/field.h"

#include <inttypes.h>
#include <string.h>

static void csv_write_text(FILE *out, const char *text)
{
	if (text == NULL)
		return;
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

static void write_cell(FILE *out, enum field_type type, const void *at)
{
	switch (type) {
	case FIELD_TEXT:
	case FIELD_KIND:
		csv_write_text(out, field_text(type, at));
		break;
	case FIELD_COUNT:
		if (*(const uint64_t *)at != UNKNOWN)
			fprintf(out, "%" PRIu64, *(const uint64_t *)at);
		break;
	case FIELD_UNSIGNED:
		if (*(const unsigned *)at != 0)
			fprintf(out, "%u", *(const unsigned *)at);
		break;
	case FIELD_INDEX:
		if (*(const int *)at >= 0)
			fprintf(out, "%d", *(const int *)at);
		break;
	case FIELD_FLAG:
		fputs(*(const bool *)at ? "true" : "false", out);
		break;
	case FIELD_NUMBER:
		if (isfinite(*(const double *)at))
			fprintf(out, "%.9g", *(const double *)at);
		break;
	default:
		break;
	}
}

int csv_write(const struct profile *profile, const struct form_style *style, FILE *out,
	      struct error *err)
{
	(void)style;
	(void)err;
	for (const struct field *field = field_window; field->path != NULL; field++)
		fprintf(out, "%s%s", field == field_window ? "" : ",", field->path);
	fputs("\r\n", out);
	for (size_t i = 0; i < profile->window_count; i++) {
		const char *window = (const char *)&profile->windows[i];

		for (const struct field *field = field_window; field->path != NULL;
		     field++) {
			if (field != field_window)
				putc(',', out);
			write_cell(out, field->type, window + field->offset);
		}
		fputs("\r\n", out);
	}
	return 0;
}
