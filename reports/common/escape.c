/* escape.c - escapes control characters, invalid UTF-8 and markup. */
#include "reports/common/escape.h"
#include "loader/base/name.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void escape_spell(uint32_t point, char piece[ESCAPE_PIECE])
{
	if (point == '\n' || point == '\t' || point == '\r')
		snprintf(piece, ESCAPE_PIECE, "\\%c",
			 point == '\n'   ? 'n'
			 : point == '\t' ? 't'
					 : 'r');
	else
		snprintf(piece, ESCAPE_PIECE, point < 0x100 ? "\\x%02x" : "\\u%04x",
			 (unsigned)(point & 0xffff));
}

size_t escape_next(const char *text, char piece[ESCAPE_PIECE])
{
	uint32_t point;
	size_t length = name_character(text, &point);

	if (point == 0 && length == 1)
		return 0;
	if (length > 0 && !name_hidden(point)) {
		memcpy(piece, text, length);
		piece[length] = '\0';
		return length;
	}
	escape_spell(length > 0 ? point : (unsigned char)*text, piece);
	return length > 0 ? length : 1;
}

void escape_part(FILE *out, const char *text, size_t length)
{
	char piece[ESCAPE_PIECE];

	for (size_t at = 0, taken; at < length; at += taken) {
		taken = escape_next(text + at, piece);
		fputs(piece, out);
	}
}

void escape_plain(FILE *out, const char *text)
{
	escape_part(out, text, strlen(text));
}

const char *escape_to(char *to, size_t size, const char *text)
{
	char piece[ESCAPE_PIECE];
	size_t at = 0, cut = 0;

	for (size_t taken; (taken = escape_next(text, piece)) > 0; text += taken) {
		if (at + strlen(piece) >= size) {
			memcpy(to + cut, "...", 4);
			return to;
		}
		at = (size_t)(stpcpy(to + at, piece) - to);
		if (at + 4 <= size)
			cut = at;
	}
	to[at] = '\0';
	return to;
}

static const char *escape_entity(const char *piece)
{
	switch (piece[0]) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return piece;
	}
}

void escape_html_part(FILE *out, const char *text, size_t length)
{
	char piece[ESCAPE_PIECE];

	for (size_t at = 0; at < length;) {
		at += escape_next(text + at, piece);
		fputs(escape_entity(piece), out);
	}
}

void escape_html(FILE *out, const char *text)
{
	escape_html_part(out, text, strlen(text));
}

static size_t piece_width(const char *piece)
{
	return (unsigned char)piece[0] < 0x80 ? strlen(piece) : 1;
}

size_t escape_width_part(const char *text, size_t length)
{
	char piece[ESCAPE_PIECE] = "";
	size_t width = 0;

	for (size_t at = 0, taken; at < length; at += taken) {
		taken = escape_next(text + at, piece);
		width += piece_width(piece);
	}
	return width;
}

size_t escape_width(const char *text)
{
	return escape_width_part(text, strlen(text));
}

const char *escape_tail(const char *text, size_t width, const char **cut)
{
	size_t left = escape_width(text);
	char piece[ESCAPE_PIECE] = "";

	*cut = left > width ? "..." : "";
	while (left > 0 && left + strlen(*cut) > width) {
		text += escape_next(text, piece);
		left -= piece_width(piece);
	}
	return text;
}

char *escape_utf8(const char *text)
{
	char *copy = malloc(4 * strlen(text) + 1), *to = copy;
	uint32_t point;

	if (copy == NULL)
		return NULL;
	while (*text != '\0') {
		size_t length = name_character(text, &point);

		if (length > 0)
			memcpy(to, text, length);
		else
			sprintf(to, "\\x%02x", (unsigned char)*text);
		to += length > 0 ? length : 4;
		text += length > 0 ? length : 1;
	}
	*to = '\0';
	return copy;
}
