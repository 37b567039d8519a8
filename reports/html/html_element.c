/* html_element.c - what every part of an HTML page is made of: text, tables, cells. */
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "reports/common/escape.h"
#include "reports/html/html_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TITLE = 50 }; /* characters in the title */

void html_text(FILE *out, const char *text)
{
	if (text != NULL)
		escape_html(out, text);
}

void html_sentence(FILE *out, const char *text)
{
	static const char letters[] = "-abcdefghijklmnopqrstuvwxyz";
	const char *option;

	for (; text != NULL && (option = strstr(text, "--")) != NULL;
	     text = option + strspn(option, letters)) {
		escape_html_part(out, text, (size_t)(option - text));
		fprintf(out, "<span class=\"option\">%.*s</span>",
			(int)strspn(option, letters), option);
	}
	html_text(out, text);
}

void html_words(const struct html *html, format_words *format)
{
	char *text = format_string(format, html->profile);

	*html->failed |= text == NULL;
	html_sentence(html->out, text);
	free(text);
}

void html_note(const struct html *html, const char *attributes, const char *title,
	       format_words *format, const char *more)
{
	char *text = format_string(format, html->profile);

	*html->failed |= text == NULL;
	if (text != NULL && *text != '\0') {
		fprintf(html->out, "<p%s><strong>%s:</strong> ", attributes, title);
		html_sentence(html->out, text);
		fprintf(html->out, ".%s</p>\n", more);
	}
	free(text);
}

void html_section(FILE *out, const char *id, const char *title)
{
	fprintf(out, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id,
		id, title);
}

void html_table(FILE *out, const char *caption, const char *heads)
{
	fprintf(out,
		"<section class=\"scroll\" tabindex=\"0\" aria-label=\"%s\">\n<table>\n"
		"<caption>%s</caption>\n<thead><tr>",
		caption, caption);
	while (*heads != '\0') {
		size_t length = strcspn(heads, "|");
		size_t number = length > 0 && heads[length - 1] == '#';

		fprintf(out, "<th scope=\"col\"%s>%.*s</th>",
			number ? " class=\"n\"" : "", (int)(length - number), heads);
		heads += length + (heads[length] == '|');
	}
	fputs("</tr></thead>\n<tbody>\n", out);
}

void html_table_end(FILE *out)
{
	fputs("</tbody>\n</table>\n</section>\n", out);
}

void html_cell(FILE *out, const char *text)
{
	fputs("<td>", out);
	html_text(out, text == NULL ? "–" : text);
	fputs("</td>", out);
}

void html_number(FILE *out, const char *text)
{
	fprintf(out, "<td class=\"n\">%s</td>", text);
}

void html_start(FILE *out, double start_s)
{
	if (isfinite(start_s))
		fprintf(out, "<tr><td class=\"n\">%.1f</td>", start_s);
	else
		fputs("<tr><td class=\"n\">–</td>", out);
}

void html_pair(FILE *out, const char *name, const char *text)
{
	if (text == NULL)
		return;
	fprintf(out, "<tr><th scope=\"row\">%s</th>", name);
	html_cell(out, text);
	fputs("</tr>\n", out);
}

const char *html_range(char to[FORMAT_RANGE], const struct interval *interval)
{
	return format_range(to, interval, "to") != NULL ? to : "n/a";
}

/* No "<" may be seen by the HTML parser. */
static int html_embed(FILE *out, file_fill *fill, const void *context,
		      struct error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	int result;

	if (memory == NULL)
		return error_set(err, ENOMEM, "no memory for the report");
	result = fill(memory, context, err);
	if (io_text(memory, &text) == NULL && result == 0)
		result = error_set(err, ENOMEM, "no memory for the report");
	fputs("<script type=\"application/json\" id=\"result\">\n", out);
	for (size_t i = 0; result == 0 && i < size; i++)
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			putc(text[i], out);
	fputs("</script>\n", out);
	free(text);
	return result;
}

int html_end(FILE *out, const struct html_end *end, struct error *err)
{
	int result;

	fputs("</main>\n<footer><p>Made by dsa ", out);
	html_text(out, end->version);
	fprintf(out,
		". This file holds the whole %s as JSON, in the element "
		"<code>#result</code>; <code>%s</code> writes it too.</p></footer>\n",
		end->what, end->command);
	result = html_embed(out, end->fill, end->context, err);
	fputs("</body>\n</html>\n", out);
	return result;
}

void html_begin(FILE *out, const char *title)
{
	const char *cut;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, "
	      "initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
	      "'none'; style-src 'unsafe-inline'\">\n<title>dsa: ",
	      out);
	title = escape_tail(title, TITLE, &cut);
	fputs(cut, out);
	html_text(out, title);
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", html_style);
}
