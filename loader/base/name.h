/* name.h - file names made safe to print: they may hold any byte but 0 and '/'. */
#ifndef DSA_NAME_H
#define DSA_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_SHOWN = 120 }; /* bytes for a name within an error line */

/*
 * Writes name into buffer (size bytes, at least 8) such that it is one line of valid
 * UTF-8 that moves no terminal and closes no quotes: \n \t \r, \xNN for other control
 * characters, direction overrides and bytes that are no UTF-8, and \ before \ ' and ".
 * Of a name that is too long the end is kept, after "...". Returns buffer.
 */
const char *name_escape(const char *name, char *buffer, size_t size);

/* Bytes of the UTF-8 character at name and its code point; 0: it is not one. */
size_t name_character(const char *name, uint32_t *point);

/* True for what moves the cursor, ends the line, turns its direction, or is not to be seen. */
bool name_hidden(uint32_t point);

#endif
