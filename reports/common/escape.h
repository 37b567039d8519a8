/*
 * escape.h - text from outside (paths, commands, names) made fit to be shown.
 *
 * What would act instead of being read (control characters, bytes that are not UTF-8,
 * marks that turn the direction of writing) becomes visible: \n, \x1b, \u202e.
 */
#ifndef DSA_ESCAPE_H
#define DSA_ESCAPE_H

#include <stdio.h>

enum { ESCAPE_PIECE = 8 };

/*
 * The visible form of the first character of text, as a string in piece. Returns how
 * many bytes of text it stands for; 0 at the end.
 */
size_t escape_next(const char *text, char piece[ESCAPE_PIECE]);

/* Writes the visible form of text. */
void escape_plain(FILE *out, const char *text);

/* The same of its first `length` bytes, which end with a character. */
void escape_part(FILE *out, const char *text, size_t length);

/*
 * Its visible form as a string in size bytes (at least 16), whole characters; of a text
 * that is too long the begin is kept, before "...". Returns to.
 */
const char *escape_to(char *to, size_t size, const char *text);

/* The same of all, with & < > " ' as HTML entities: for text and quoted attributes;
 * of its first bytes alone. */
void escape_html(FILE *out, const char *text);
void escape_html_part(FILE *out, const char *text, size_t length);

/* Characters of the visible form of text, or of its first `length` bytes. */
size_t escape_width(const char *text);
size_t escape_width_part(const char *text, size_t length);

/*
 * The end of text whose visible form has at most `width` characters, "..." counted in
 * when something was cut; *cut is then "...", else "".
 */
const char *escape_tail(const char *text, size_t width, const char **cut);

/* A copy that is UTF-8: other bytes become \xHH, all else stays. NULL: no memory. */
char *escape_utf8(const char *text);

#endif
