/*
 * markdown.h - text from outside inside Markdown.
 *
 * It may come from anybody who may write a file's name. What would be markup is written
 * as an entity, which never is; and what a site makes links or mentions of (@you, #1,
 * http://) is parted by a character of no width.
 */
#ifndef DSA_MARKDOWN_H
#define DSA_MARKDOWN_H

#include <stdio.h>

/* On one line: what ends one becomes visible. */
void markdown_text(FILE *out, const char *text);

#endif
