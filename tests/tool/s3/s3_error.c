/* s3_error.c - an error's body is a small XML document. */
#include "tests/tool/s3/s3_error.h"
#include "loader/base/io.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void s3_put_element(FILE *out, const char *name, const char *text)
{
	fprintf(out, "<%s>", name);
	for (; *text != 0; text++) {
		if (strchr("&<>\"", *text) != NULL || (unsigned char)*text < ' ')
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
	}
	fprintf(out, "</%s>", name);
}

bool s3_error_set(struct s3_error *error, unsigned status, const char *code,
		  const char *format, ...)
{
	va_list arguments;

	error->status = status;
	error->code = code;
	va_start(arguments, format);
	vsnprintf(error->message, sizeof(error->message), format, arguments);
	va_end(arguments);
	return false;
}

bool s3_error_add(struct s3_error *error, const char *name, const char *text)
{
	char *more = NULL;
	size_t size;
	FILE *out = open_memstream(&more, &size);

	if (out == NULL)
		return false;
	fputs(error->more != NULL ? error->more : "", out);
	s3_put_element(out, name, text);
	free(error->more);
	error->more = io_text(out, &more);
	return false;
}

char *s3_error_body(const struct s3_error *error, const char *resource)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>", out);
	s3_put_element(out, "Code", error->code);
	s3_put_element(out, "Message", error->message);
	fputs(error->more != NULL ? error->more : "", out);
	s3_put_element(out, "Resource", resource);
	fputs("</Error>", out);
	return io_text(out, &text);
}

void s3_error_fini(struct s3_error *error)
{
	free(error->more);
	*error = (struct s3_error){0};
}
