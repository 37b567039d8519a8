/* markdown.c - escapes what Markdown would interpret. */
#include "reports/common/markdown.h"
#include "reports/common/escape.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define APART "&#8203;"

/* Marks that sites join with what follows: mentions, numbers of issues, links. */
static bool markdown_joins(char mark, char next)
{
	return strchr("@#!$%&~:", mark) != NULL && isgraph((unsigned char)next);
}

static bool is_markup(char mark, char next)
{
	if (strchr("-.+)=", mark) != NULL)
		return !isdigit((unsigned char)next);
	return strchr("\\`*_{}[]<>&~|@#!$:\"'^", mark) != NULL;
}

void markdown_text(FILE *out, const char *text)
{
	char piece[ESCAPE_PIECE];

	for (size_t taken; (taken = escape_next(text, piece)) > 0; text += taken) {
		if (piece[1] != '\0') {
			/* "\n", or a character beyond ASCII: nothing that joins. */
			fprintf(out, "%s%s", piece[0] == '\\' ? "&#92;" : "",
				piece + (piece[0] == '\\'));
			continue;
		}
		if (is_markup(piece[0], text[1]))
			fprintf(out, "&#%d;", piece[0]);
		else
			putc(piece[0], out);
		if (markdown_joins(piece[0], text[1]))
			fputs(APART, out);
	}
}
