/*
 * compare_part.h - what the forms of a comparison share: the numbers, and what became
 * of each. Only reports/compare/ uses it.
 */
#ifndef DSA_COMPARE_PART_H
#define DSA_COMPARE_PART_H

#include "models/compare/causes.h"
#include "reports/common/format.h"
#include "reports/compare/compare.h"

enum compare_group {
	COMPARE_RATES,
	COMPARE_STALLS,
	COMPARE_COUNTS,
	COMPARE_LOADER,
	COMPARE_DATA,
	COMPARE_RUN,
	COMPARE_MACHINE,
	COMPARE_GROUPS
};

enum compare_unit {
	COMPARE_TEXT, /* no number */
	COMPARE_NUMBER,
	COMPARE_RATE, /* samples/s */
	COMPARE_SHARE,
	COMPARE_BYTES,
	COMPARE_BYTES_PER_S,
	COMPARE_SECONDS
};

enum compare_verdict {
	COMPARE_SAME,
	COMPARE_DIFFERS, /* settings and exact counts: they do or they don't */
	COMPARE_CLEAR,   /* the intervals do not overlap */
	COMPARE_NOISE,   /* they do */
	COMPARE_UNSURE,  /* measured, but no interval is known */
	COMPARE_UNKNOWN  /* one of them has none */
};

/* One side of a row; a text belongs to its profile, or is a constant. */
struct compare_value {
	const char *text;
	struct interval number;
};

/* One number or text of both. */
struct compare_row {
	enum compare_group group;
	enum compare_unit unit;
	enum compare_verdict verdict;
	const char *path; /* as dsa-result(5) has it, or the key of a fact */
	char name[64];    /* for people; of a fact not escaped */
	const char *none; /* what it means that there is no number; NULL: unknown */
	struct compare_value a, b;
	double change; /* of shares b - a, else b / a - 1; NAN: unknown */
};

struct compare_rows {
	struct compare_row *rows; /* in the order of their group */
	size_t count;
	size_t settings, same; /* rows of the loader and after it; those not shown */
	struct causes causes;
	char *a_name, *b_name; /* "out, not measured: the program hung" */
};

/* 0 or -ENOMEM; compare_rows_fini() in either case. */
int compare_rows_init(const struct compare *compare, struct compare_rows *rows);
void compare_rows_fini(struct compare_rows *rows);

const char *compare_group_name(enum compare_group group);
const char *compare_verdict_name(enum compare_verdict verdict);

/* True when its number has an interval. */
bool compare_has_interval(const struct compare_value *value);

/* Measured numbers are shown in any case, settings and facts where they differ. */
bool compare_is_shown(const struct compare_row *row);

/* True when both sides differ, and not by noise. */
bool compare_is_clear(const struct compare_row *row);

/* "49.8% ±0.4", "1912 ±22", "n/a": a number of a row. */
enum { COMPARE_CELL = 2 * FORMAT_SIZE };
const char *compare_number(char to[COMPARE_CELL], const struct compare_row *row,
			   const struct compare_value *value);

/* "+18.2 points", "-3.1%", or empty where nothing is known. */
const char *compare_change(char to[FORMAT_SIZE], const struct compare_row *row);

/* Where there are no causes. */
#define COMPARE_NOTHING "Nothing that both have differs beyond the noise."

/* A form: writes rows of compare. 0 or -errno. */
typedef int compare_form(const struct compare *compare, const struct compare_rows *rows,
			 const struct form_style *style, FILE *out, struct error *err);
compare_form compare_text, compare_json, compare_html, compare_markdown;

#endif
