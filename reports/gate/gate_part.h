/*
 * gate_part.h - what the forms of a verdict share: order, signs, numbers, sentences.
 * Only reports/gate/ uses it.
 */
#ifndef DSA_GATE_PART_H
#define DSA_GATE_PART_H

#include "reports/common/format.h"
#include "reports/gate/gate_form.h"

enum {
	GATE_PART_TEXT = 512, /* bytes of a text from outside; more are cut */
	GATE_PART_LINES = 16  /* causes, or mismatches, that are shown */
};

/* The forms of gate_form.c's table: `ranked` are the findings, the worst first. -ENOMEM
 * alone may leave err empty. */
typedef int gate_part_form(const struct gate_report *report,
			   const struct gate_finding *const *ranked,
			   const struct form_style *style, FILE *out,
			   struct error *err);
gate_part_form gate_text_write, gate_json_write, gate_junit_write, gate_github_write;
gate_part_form gate_comment_write, gate_summary_write; /* Markdown */

/* Signs differ in shape, so that they need no colour; plain ones are ASCII. */
const char *gate_part_outcome_sign(enum gate_outcome outcome, bool plain);
const char *gate_part_status_sign(enum gate_status status, bool plain);

/* The numbers of a finding, in its unit. What is unknown is "n/a", `range` then "". */
struct gate_cells {
	char base[FORMAT_SIZE], now[FORMAT_SIZE];
	char change[FORMAT_SIZE];    /* "+18.2 pt", "-0.6%" of what it was */
	char range[3 * FORMAT_SIZE]; /* "+15.1 .. +21.3 pt, p 0.004" */
	char limit[FORMAT_SIZE];     /* "5 pt"; "none" */
};

void gate_part_cells(const struct gate_finding *finding, struct gate_cells *cells);

/* The causes without the one that the verdict's first line names. */
char *const *gate_part_causes(const struct gate_verdict *verdict, size_t *count);

/* The findings, the worst first, to be freed; NULL: no memory. */
const struct gate_finding **gate_part_rank(const struct gate_verdict *verdict);

/* Rows as they fit. */
struct gate_rows {
	char *text; /* to be freed */
	size_t size;
	size_t shown; /* the first so many */
};

typedef void gate_part_row(FILE *out, const struct gate_finding *finding, size_t place);

/* What `row` writes of the ranked ones, in at most `most` bytes: rows that do not fit,
 * and those after them, are left out. 0 or -ENOMEM. */
int gate_part_rows(const struct gate_finding *const *ranked, size_t count, size_t most,
		   gate_part_row *row, struct gate_rows *rows);

/* Sentences, to be freed; NULL: no memory. What this gate can see: "samples_per_s
 * from 13.1% on (limit 10 + 3.1)", or ""; and what it rests on: "decided after 8 of at
 * most 32 pairs, alpha 0.05, 61 s". */
char *gate_part_seen(const struct gate_verdict *verdict);
char *gate_part_basis(const struct gate_verdict *verdict, double seconds);

/* The same: what to do where the verdict is no answer, or "". */
char *gate_part_advice(const struct gate_verdict *verdict);

/* As people read it: "info", "not compared"; else as in JSON. */
const char *gate_part_status(enum gate_status status);

#endif
