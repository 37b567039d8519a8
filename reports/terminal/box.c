/* box.c - wraps and colours lines for a terminal. */
#include "reports/terminal/box.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "reports/common/escape.h"
#include "reports/common/form_style.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 11 };

int box_open(struct box *box, const struct form_style *style)
{
	size_t columns = style->columns == 0 ? BOX_COLUMNS : style->columns;

	*box = (struct box){.style = style, .columns = columns};
	if (columns > BOX_COLUMNS)
		box->columns = BOX_COLUMNS;
	if (columns < BOX_LEAST)
		box->columns = BOX_LEAST;
	box->out = open_memstream(&box->text, &box->size);
	return box->out == NULL ? -ENOMEM : 0;
}

/* Everything beyond ASCII becomes something like it. */
static void write_ascii(FILE *out, const char *text)
{
	static const struct {
		const char *character, *like;
	} table[] = {{"±", "+-"}, {"·", "|"}, {"█", "#"}, {"▒", "="}, {"░", "."}};
	char piece[ESCAPE_PIECE];

	while (*text != '\0') {
		const char *like = "?";
		size_t length = 1;

		if ((unsigned char)*text < 0x80) {
			putc(*text++, out);
			continue;
		}
		length = escape_next(text, piece);
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
			if (strcmp(piece, table[i].character) == 0)
				like = table[i].like;
		fputs(like, out);
		text += length;
	}
}

int box_close(struct box *box, FILE *out, struct error *err)
{
	if (io_text(box->out, &box->text) == NULL || box->failed) {
		free(box->text);
		return error_set(err, ENOMEM, "no memory for the text");
	}
	if (box->style->ascii)
		write_ascii(out, box->text);
	else
		fputs(box->text, out);
	free(box->text);
	return 0;
}

const char *box_ink(const struct box *box, enum box_ink ink)
{
	static const char *const sequences[] = {
		[BOX_PLAIN] = "\x1b[0m",
		[BOX_BOLD] = "\x1b[1m",
		[BOX_DIM] = "\x1b[2m",
	};

	return box->style->colour ? sequences[ink] : "";
}

void box_wrap(struct box *box, const char *words, size_t at)
{
	size_t column = at;

	while (*words != '\0') {
		size_t length = strcspn(words, " ");
		size_t width = escape_width_part(words, length);

		if (column > at && column + 1 + width > box->columns) {
			fprintf(box->out, "\n%*s", (int)at, "");
			column = at;
		} else if (column > at) {
			putc(' ', box->out);
			column++;
		}
		escape_part(box->out, words, length);
		column += width;
		words += length + strspn(words + length, " ");
	}
}

void box_paragraph(struct box *box, const char *words, size_t at)
{
	fprintf(box->out, "%*s", (int)at, "");
	box_wrap(box, words, at);
	putc('\n', box->out);
}

static void box_label(struct box *box, const char *label)
{
	fprintf(box->out, "%*s%s%-*s%s", BOX_INDENT, "", box_ink(box, BOX_DIM), LABEL,
		label, box_ink(box, BOX_PLAIN));
}

void box_command(struct box *box, const char *label, const char *command)
{
	if (command == NULL)
		return;
	box_label(box, label);
	escape_plain(box->out, command);
	putc('\n', box->out);
}

void box_line(struct box *box, const char *label, const char *format, ...)
{
	char *words = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&words, format, args) < 0) {
		box->failed = true;
		words = NULL;
	}
	va_end(args);
	box_label(box, label);
	if (words != NULL)
		box_wrap(box, words, BOX_INDENT + LABEL);
	putc('\n', box->out);
	free(words);
}

void box_sentence(struct box *box, const char *label, char *text)
{
	box->failed |= text == NULL;
	if (text != NULL && *text != '\0')
		box_line(box, label, "%s", text);
	free(text);
}
