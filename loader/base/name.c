/* name.c - checks UTF-8 and escapes. */
#include "loader/base/name.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 20 }; /* room for the longest escape: four bytes as \xNN, and a 0 */

size_t name_character(const char *name, uint32_t *point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *text = (const unsigned char *)name;
	size_t length = text[0] < 0x80   ? 1
			: text[0] < 0xc2 ? 0
			: text[0] < 0xe0 ? 2
			: text[0] < 0xf0 ? 3
			: text[0] < 0xf5 ? 4
					 : 0;

	*point = length < 2 ? text[0] : text[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80) /* 0 included */
			return 0;
		*point = *point << 6 | (text[i] & 0x3f);
	}
	if (*point < least[length] || *point > 0x10ffff ||
	    (*point >= 0xd800 && *point < 0xe000))
		return 0;
	return length;
}

bool name_hidden(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c ||
	       (point >= 0x200b && point <= 0x200f) ||
	       (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2060 && point <= 0x206f) || point == 0xfeff ||
	       (point >= 0xfff0 && point <= 0xfffb) || (point & 0xfffe) == 0xfffe;
}

/* Writes the character at text as it is shown. Returns the bytes it took of text. */
static size_t name_show(const char *text, char piece[PIECE])
{
	static const char letters[] = "\nn\tt\rr\\\\''\"\"";
	uint32_t point;
	size_t length = name_character(text, &point);

	for (const char *at = letters; *at != '\0'; at += 2)
		if (text[0] == at[0]) {
			snprintf(piece, PIECE, "\\%c", at[1]);
			return 1;
		}
	if (length > 0 && !name_hidden(point)) {
		memcpy(piece, text, length);
		piece[length] = '\0';
		return length;
	}
	if (length == 0)
		length = 1;
	for (size_t i = 0; i < length; i++)
		snprintf(piece + 4 * i, PIECE - 4 * i, "\\x%02x",
			 (unsigned char)text[i]);
	return length;
}

static size_t shown_length(const char *text)
{
	char piece[PIECE];
	size_t total = 0;

	while (*text != '\0') {
		text += name_show(text, piece);
		total += strlen(piece);
	}
	return total;
}

const char *name_escape(const char *name, char *buffer, size_t size)
{
	const char *text = name;
	size_t total = shown_length(text);
	size_t used = 0;
	char piece[PIECE];

	if (total >= size) {
		memcpy(buffer, "...", 3);
		used = 3;
	}
	while (total + used >= size) {
		text += name_show(text, piece);
		total -= strlen(piece);
	}
	while (*text != '\0') {
		text += name_show(text, piece);
		memcpy(buffer + used, piece, strlen(piece));
		used += strlen(piece);
	}
	buffer[used] = '\0';
	return buffer;
}
