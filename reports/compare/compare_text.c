/* compare_text.c - a comparison for a terminal. */
#include "loader/base/error.h"
#include "reports/common/escape.h"
#include "reports/compare/compare_part.h"
#include "reports/terminal/box.h"

#include <errno.h>

/* Columns: name 25, both numbers 14, change 13, what it is 11. Where they do not fit, the
 * name has a line of its own. */
enum { NAME = 25, CELL = 14, CHANGE = 13, UNDER = BOX_INDENT + 3 };

/* Left of a column, or right of it; what is wider pushes on. */
static void compare_text_cell(struct box *box, const char *text, int width)
{
	int length = (int)escape_width(text);

	if (width < 0)
		fprintf(box->out, "%*s", -width > length ? -width - length : 0, "");
	escape_plain(box->out, text);
	fprintf(box->out, "%*s", width > length ? width - length : 0, "");
}

static void compare_text_causes(struct box *box, const struct causes *causes)
{
	if (causes->count == 0)
		fprintf(box->out, "%*s%s\n", BOX_INDENT, "", COMPARE_NOTHING);
	for (unsigned i = 0; i < causes->count; i++) {
		fprintf(box->out, "%*s%s%-3u%s", BOX_INDENT, "", box_ink(box, BOX_BOLD),
			i + 1, box_ink(box, BOX_PLAIN));
		box_wrap(box, causes->text[i], UNDER);
		putc('\n', box->out);
	}
}

/* Where the numbers begin. */
static int compare_text_numbers(const struct box *box)
{
	return box->columns < BOX_COLUMNS ? 0 : BOX_INDENT + NAME;
}

static void number_row(struct box *box, const struct compare_row *row)
{
	char text[COMPARE_CELL];

	fprintf(box->out, "%*s", BOX_INDENT, "");
	compare_text_cell(box, row->name, NAME);
	if (compare_text_numbers(box) == 0)
		putc('\n', box->out);
	compare_text_cell(box, compare_number(text, row, &row->a), -CELL);
	compare_text_cell(box, compare_number(text, row, &row->b), -CELL);
	compare_text_cell(box, compare_change(text, row), -CHANGE);
	fprintf(box->out, "  %s%s%s\n",
		box_ink(box, compare_is_clear(row) ? BOX_BOLD : BOX_DIM),
		compare_verdict_name(row->verdict), box_ink(box, BOX_PLAIN));
}

static void text_line(struct box *box, const char *side, const char *text)
{
	fprintf(box->out, "%*s%s ", UNDER + 2, "", side);
	box_wrap(box, text == NULL ? "n/a" : *text == '\0' ? "none" : text, UNDER + 4);
	putc('\n', box->out);
}

static void text_row(struct box *box, const struct compare_row *row)
{
	fprintf(box->out, "%*s", BOX_INDENT, "");
	compare_text_cell(box, row->name, 0);
	putc('\n', box->out);
	text_line(box, "A", row->a.text);
	text_line(box, "B", row->b.text);
}

static void compare_text_group(struct box *box, const struct compare_rows *rows,
			       enum compare_group group)
{
	bool begun = false;

	for (size_t i = 0; i < rows->count; i++) {
		const struct compare_row *row = &rows->rows[i];

		if (row->group != group || !compare_is_shown(row))
			continue;
		if (!begun)
			fprintf(box->out, "\n%*s%s%s%s\n", BOX_INDENT, "",
				box_ink(box, BOX_DIM), compare_group_name(group),
				box_ink(box, BOX_PLAIN));
		begun = true;
		if (row->unit == COMPARE_TEXT)
			text_row(box, row);
		else
			number_row(box, row);
	}
}

int compare_text(const struct compare *compare, const struct compare_rows *rows,
		 const struct form_style *style, FILE *out, struct error *err)
{
	struct box box;

	(void)compare;
	if (box_open(&box, style) < 0)
		return error_set(err, ENOMEM, "no memory for the text");
	putc('\n', box.out);
	fprintf(box.out, "%*sA  ", BOX_INDENT, "");
	box_wrap(&box, rows->a_name, UNDER);
	fprintf(box.out, "\n%*sB  ", BOX_INDENT, "");
	box_wrap(&box, rows->b_name, UNDER);
	fputs("\n\n", box.out);
	compare_text_causes(&box, &rows->causes);
	fprintf(box.out, "\n%*s%*s%*s%*s\n", compare_text_numbers(&box), "", CELL, "A",
		CELL, "B", CHANGE, "change");
	for (int i = 0; i < COMPARE_GROUPS; i++)
		compare_text_group(&box, rows, (enum compare_group)i);
	if (rows->same > 0)
		fprintf(box.out, "\n%*s%zu settings and facts are the same.\n",
			BOX_INDENT, "", rows->same);
	putc('\n', box.out);
	return box_close(&box, out, err);
}
