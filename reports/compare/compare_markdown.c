/* compare_markdown.c - a comparison as a comment on a change: causes, measurements. */
#include "reports/common/markdown.h"
#include "reports/compare/compare_part.h"

static void compare_markdown_causes(FILE *out, const struct causes *causes)
{
	if (causes->count == 0)
		fputs(COMPARE_NOTHING "\n", out);
	for (unsigned i = 0; i < causes->count; i++) {
		fprintf(out, "%u. ", i + 1);
		markdown_text(out, causes->text[i]);
		putc('\n', out);
	}
}

static void compare_markdown_row(FILE *out, const struct compare_row *row)
{
	const char *bold = compare_is_clear(row) ? "**" : "";
	char a[COMPARE_CELL], b[COMPARE_CELL], change[FORMAT_SIZE];

	fprintf(out, "| %s | %s | %s | %s | %s%s%s |\n", row->name,
		compare_number(a, row, &row->a), compare_number(b, row, &row->b),
		compare_change(change, row), bold, compare_verdict_name(row->verdict),
		bold);
}

/* Those rows of a group that there are, as a table. */
static void compare_markdown_group(FILE *out, const struct compare_rows *rows,
				   enum compare_group group)
{
	bool begun = false;

	for (size_t i = 0; i < rows->count; i++) {
		if (rows->rows[i].group != group)
			continue;
		if (!begun)
			fprintf(out,
				"\n| %s | A | B | change | |\n"
				"|---|---:|---:|---:|---|\n",
				compare_group_name(group));
		begun = true;
		compare_markdown_row(out, &rows->rows[i]);
	}
}

int compare_markdown(const struct compare *compare, const struct compare_rows *rows,
		     const struct form_style *style, FILE *out, struct error *err)
{
	(void)compare;
	(void)style;
	(void)err;
	fputs("**A** ", out);
	markdown_text(out, rows->a_name);
	fputs("\\\n**B** ", out);
	markdown_text(out, rows->b_name);
	fputs("\n\n", out);
	compare_markdown_causes(out, &rows->causes);
	for (int i = COMPARE_RATES; i <= COMPARE_COUNTS; i++)
		compare_markdown_group(out, rows, (enum compare_group)i);
	return 0;
}
