#include "reports/html.h"
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/escape.h"
#include "reports/format.h"
#include "reports/json.h"

#include <errno.h>
#include <stdlib.h>

/* JSON in a script element: no "<" may be seen by the HTML parser. */
static int embed(const struct profile *profile, FILE *out, struct error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	int result;

	if (memory == NULL)
		return error_set(err, ENOMEM, "no memory for the report");
	result = json_result_write(profile, memory, err);
	if (fclose(memory) == EOF && result == 0)
		result = error_set(err, ENOMEM, "no memory for the report");
	fputs("<script type=\"application/json\" id=\"result\">", out);
	for (size_t i = 0; result == 0 && i < size; i++)
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			putc(text[i], out);
	fputs("</script>\n", out);
	free(text);
	return result;
}

int html_write(const struct profile *profile, const struct form_style *style, FILE *out,
	       struct error *err)
{
	int result;

	(void)style;
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<title>dsa report</title>\n</head>\n<body>\n<h1>",
	      out);
	format_verdict(out, profile);
	fputs("</h1>\n", out);
	result = embed(profile, out, err);
	fputs("</body>\n</html>\n", out);
	return result;
}
