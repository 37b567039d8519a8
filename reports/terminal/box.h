/*
 * box.h - text for a terminal: lines gather in memory, are wrapped between words, and go
 * out whole, in ASCII where nothing else is asked for. Lines have 80 columns, or as many
 * as the terminal where that has less.
 */
#ifndef DSA_BOX_H
#define DSA_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct error;
struct form_style;

enum { BOX_COLUMNS = 80, BOX_LEAST = 40, BOX_INDENT = 2 };

struct box {
	const struct form_style *style;
	FILE *out;      /* in memory; what comes from outside goes there escaped */
	size_t columns; /* of a line: BOX_LEAST to BOX_COLUMNS */
	bool failed;    /* memory was short */
	char *text;
	size_t size;
};

/* 0 or -ENOMEM; then box_close() must not be called. */
int box_open(struct box *box, const struct form_style *style);

/* Writes all of it to out, and frees it. 0 or -ENOMEM, with nothing written. */
int box_close(struct box *box, FILE *out, struct error *err);

enum box_ink { BOX_PLAIN, BOX_BOLD, BOX_DIM };

/* The terminal's escape sequence, or "" without colours. */
const char *box_ink(const struct box *box, enum box_ink ink);

/* Words from column `at` on, escaped, with the lines broken between them. */
void box_wrap(struct box *box, const char *words, size_t at);

/* The same behind `at` spaces, and the line's end. */
void box_paragraph(struct box *box, const char *words, size_t at);

/* A line "label      words", wrapped. */
void box_line(struct box *box, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "label      command", not wrapped, so that it can be copied; nothing for NULL. */
void box_command(struct box *box, const char *label, const char *command);

/* A line of a text, wrapped, which it frees; nothing for "". NULL: memory was short. */
void box_sentence(struct box *box, const char *label, char *text);

#endif
