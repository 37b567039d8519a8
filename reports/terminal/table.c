/* table.c - gathers cells, and writes as many columns beside each other as fit. */
#include "reports/terminal/table.h"
#include "profiler/profile.h"
#include "reports/common/escape.h"
#include "reports/common/form_style.h"
#include "reports/common/format.h"
#include "reports/terminal/box.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 2, CELL = 128 };

/* Its length without the mark of numbers. */
static size_t table_head_length(const char *head)
{
	return strcspn(head, "#|");
}

static bool table_is_number(const char *head)
{
	return head[table_head_length(head)] == '#';
}

void table_begin(struct table *table, struct box *box, const char *heads)
{
	*table = (struct table){.box = box};
	while (*heads != '\0' && table->columns < TABLE_COLUMNS) {
		table->width[table->columns] =
			escape_width_part(heads, table_head_length(heads));
		table->heads[table->columns++] = heads;
		heads += strcspn(heads, "|");
		heads += *heads == '|';
	}
	box->failed |= *heads != '\0'; /* rows would have other cells */
}

void table_cell(struct table *table, const char *text)
{
	size_t column = table->count % table->columns, width;
	char shown[CELL], **grown = NULL, *copy;

	copy = strdup(escape_to(shown, sizeof(shown), text == NULL ? "-" : text));
	if (copy != NULL)
		grown = realloc(table->cells, (table->count + 1) * sizeof(*grown));
	if (grown == NULL) {
		free(copy);
		table->box->failed = true;
		return;
	}
	table->cells = grown;
	table->cells[table->count++] = copy;
	width = escape_width(copy);
	if (width > table->width[column])
		table->width[column] = width;
}

void table_estimate(struct table *table, const struct interval *estimate,
		    const char *unit)
{
	char number[FORMAT_SIZE], with_unit[2 * FORMAT_SIZE], range[FORMAT_RANGE];
	bool bounded = format_range(range, estimate, "..") != NULL;

	snprintf(with_unit, sizeof(with_unit), "%s%s",
		 format_rate(number, estimate->value), unit);
	table_cell(table, isfinite(estimate->value) ? with_unit
			  : bounded                 ? "bounds"
						    : NULL);
	table_cell(table, bounded ? range : NULL);
}

/* Columns that stay together: an estimate and its interval, which follows it. */
static size_t table_group(const struct table *table, size_t column)
{
	bool interval = column + 1 < table->columns &&
			strncmp(table->heads[column + 1], "95%", 3) == 0;

	return interval ? 2 : 1;
}

/* The columns from `first` on that fit beside the names: the end of them. */
static size_t table_fit(const struct table *table, size_t first)
{
	size_t room = table->box->style->columns, end = first,
	       used = BOX_INDENT + table->width[0];

	while (end < table->columns) {
		size_t next = end + table_group(table, end), width = 0;

		for (size_t i = end; i < next; i++)
			width += GAP + table->width[i];
		if (room > 0 && end > first && used + width > room)
			break;
		used += width;
		end = next;
	}
	return end;
}

static void table_put(const struct table *table, size_t column, const char *text,
		      size_t length)
{
	FILE *out = table->box->out;
	size_t width = escape_width_part(text, length);
	int pad = (int)(table->width[column] - width);
	bool right = table_is_number(table->heads[column]);

	fprintf(out, "%*s%*s", column == 0 ? BOX_INDENT : GAP, "", right ? pad : 0, "");
	fwrite(text, 1, length, out);
	if (!right && column + 1 < table->columns)
		fprintf(out, "%*s", pad, "");
}

static void table_put_row(const struct table *table, size_t row, size_t first,
			  size_t end)
{
	const char *const *cells =
		(const char *const *)table->cells + row * table->columns;

	table_put(table, 0, cells[0], strlen(cells[0]));
	for (size_t i = first; i < end; i++)
		table_put(table, i, cells[i], strlen(cells[i]));
	putc('\n', table->box->out);
}

static void table_put_heads(const struct table *table, size_t first, size_t end)
{
	fputs(box_ink(table->box, BOX_DIM), table->box->out);
	table_put(table, 0, table->heads[0], table_head_length(table->heads[0]));
	for (size_t i = first; i < end; i++)
		table_put(table, i, table->heads[i],
			  table_head_length(table->heads[i]));
	fprintf(table->box->out, "%s\n", box_ink(table->box, BOX_PLAIN));
}

void table_end(struct table *table)
{
	size_t rows = table->count / table->columns;

	for (size_t first = 1, end; first < table->columns; first = end) {
		end = table_fit(table, first);
		if (first > 1)
			putc('\n', table->box->out);
		table_put_heads(table, first, end);
		for (size_t row = 0; row < rows; row++)
			table_put_row(table, row, first, end);
	}
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){0};
}
