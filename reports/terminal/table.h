/*
 * table.h - a table for a terminal: each column is as wide as its cells, the first one
 * names the rows.
 *
 *	change    samples/s        95%      change    limit
 *	2 cores        1039  1015 .. 1063    2 cores  cores
 *
 * Columns that the terminal has no room for stand below, beside the names again. Without
 * a terminal a row is one line, however long.
 */
#ifndef DSA_TABLE_H
#define DSA_TABLE_H

#include <stddef.h>

struct box;
struct interval;

enum { TABLE_COLUMNS = 20 };

struct table {
	struct box *box;
	const char *heads[TABLE_COLUMNS]; /* each ends with '|' or the string */
	size_t width[TABLE_COLUMNS];
	size_t columns;
	char **cells; /* row by row */
	size_t count;
};

/* `heads`: "change|samples/s#|limit": "#" marks a column of numbers; it stays. */
void table_begin(struct table *table, struct box *box, const char *heads);

/* The next cell of the present row; text that is too long is cut. NULL is a dash. */
void table_cell(struct table *table, const char *text);

/* Two cells: "1912" and "1890 .. 1935". */
void table_estimate(struct table *table, const struct interval *estimate,
		    const char *unit);

/* Writes the table into the box, and frees it. */
void table_end(struct table *table);

#endif
