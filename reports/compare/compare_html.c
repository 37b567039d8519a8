/* compare_html.c - a comparison as one HTML page, in the look of the report. */
#include "loader/base/error.h"
#include "reports/compare/compare_part.h"
#include "reports/html/html_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct page {
	const struct compare *compare;
	const struct compare_rows *rows;
	FILE *out;
};

/* ---- what it comes to ---- */

static const struct compare_row *compare_html_find(const struct compare_rows *rows,
						   const char *path)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].path, path) == 0)
			return &rows->rows[i];
	return NULL;
}

static void compare_html_verdict(const struct page *page)
{
	const struct compare_row *rate =
		compare_html_find(page->rows, "rates.real_per_s");
	FILE *out = page->out;

	if (rate == NULL || rate->verdict == COMPARE_UNKNOWN)
		fputs("How fast training is was not measured of both", out);
	else if (rate->verdict == COMPARE_CLEAR && isfinite(rate->change))
		fprintf(out, "Training got %.1f%% %s", 100 * fabs(rate->change),
			rate->change < 0 ? "slower" : "faster");
	else if (rate->verdict == COMPARE_UNSURE)
		fputs("Whether training got slower is not known: no interval is", out);
	else
		fputs("Training is as fast as it was, as far as can be told", out);
	putc('.', out);
}

static void compare_html_side(FILE *out, const char *mark, const char *name,
			      const struct profile *profile)
{
	fprintf(out, "<p class=\"how\"><strong>%s</strong> ", mark);
	html_text(out, name);
	if (profile->started != NULL) {
		fputs(" · ", out);
		html_text(out, profile->started);
	}
	fputs("</p>\n", out);
}

static void compare_html_head(const struct page *page)
{
	FILE *out = page->out;

	fputs("<header>\n<p class=\"top\"><span class=\"brand\">dsa compare</span>"
	      "</p>\n<h1>",
	      out);
	compare_html_verdict(page);
	fputs("</h1>\n", out);
	compare_html_side(out, "A", page->rows->a_name, page->compare->a);
	compare_html_side(out, "B", page->rows->b_name, page->compare->b);
	fputs("</header>\n", out);
}

static void compare_html_causes(const struct page *page)
{
	const struct causes *causes = &page->rows->causes;
	FILE *out = page->out;

	html_section(out, "why", "Why B differs from A");
	if (causes->count == 0)
		fputs("<p>" COMPARE_NOTHING "</p>\n", out);
	else
		fputs("<ol class=\"advice\">\n", out);
	for (unsigned i = 0; i < causes->count; i++) {
		fputs("<li>", out);
		html_text(out, causes->text[i]);
		fputs("</li>\n", out);
	}
	if (causes->count > 0)
		fputs("</ol>\n", out);
	fputs("</section>\n", out);
}

/* ---- the bars ---- */

static void compare_html_bar(FILE *out, const char *mark, const struct profile *profile,
			     bool first)
{
	if (!isfinite(profile->stalls[STAGE_COMPUTE].value)) {
		fprintf(out, "<h3>%s</h3>\n<p>Its shares were not measured.</p>\n",
			mark);
		return;
	}
	fprintf(out, "<h3>%s</h3>\n", mark);
	html_bar(out, profile, mark, first);
}

static void compare_html_legend(FILE *out, const struct compare *compare)
{
	fputs("<ul class=\"legend\">", out);
	for (int i = 0; i < STAGES; i++) {
		if (!profile_has_stage(compare->a, i) &&
		    !profile_has_stage(compare->b, i))
			continue;
		fputs("<li>", out);
		html_swatch(out, i);
		fprintf(out, "%s</li>", stage_table[i].title);
	}
	fputs("</ul>\n", out);
}

static void compare_html_bars(const struct page *page)
{
	const struct profile *a = page->compare->a, *b = page->compare->b;
	bool both = isfinite(a->stalls[STAGE_COMPUTE].value);

	if (!both && !isfinite(b->stalls[STAGE_COMPUTE].value))
		return;
	html_section(page->out, "time", "Where the time of a step goes");
	compare_html_bar(page->out, "A", a, true);
	compare_html_bar(page->out, "B", b, !both);
	compare_html_legend(page->out, page->compare);
	fputs("</section>\n", page->out);
}

/* ---- the numbers ---- */

static void compare_html_value(FILE *out, const struct compare_row *row,
			       const struct compare_value *value)
{
	char number[COMPARE_CELL];

	if (row->unit != COMPARE_TEXT && row->group <= COMPARE_COUNTS)
		html_number(out, compare_number(number, row, value));
	else if (row->unit != COMPARE_TEXT)
		html_cell(out, compare_number(number, row, value));
	else
		html_cell(out, value->text == NULL    ? "n/a"
			       : *value->text == '\0' ? "none"
						      : value->text);
}

static void compare_html_name(FILE *out, const struct compare_row *row)
{
	fputs("<tr><th scope=\"row\">", out);
	html_text(out, row->name);
	fputs("</th>", out);
}

static void compare_html_row(FILE *out, const struct compare_row *row)
{
	char change[FORMAT_SIZE];

	compare_html_name(out, row);
	compare_html_value(out, row, &row->a);
	compare_html_value(out, row, &row->b);
	if (row->group <= COMPARE_COUNTS) {
		html_number(out, compare_change(change, row));
		fprintf(out,
			compare_is_clear(row) ? "<td><strong>%s</strong></td>"
					      : "<td>%s</td>",
			compare_verdict_name(row->verdict));
	}
	fputs("</tr>\n", out);
}

/* A table of those rows of a group that are shown. */
static void compare_html_group(const struct page *page, enum compare_group group,
			       const char *heads)
{
	bool begun = false;

	for (size_t i = 0; i < page->rows->count; i++) {
		const struct compare_row *of = &page->rows->rows[i];

		if (of->group != group || !compare_is_shown(of))
			continue;
		if (!begun)
			html_table(page->out, compare_group_name(group), heads);
		begun = true;
		compare_html_row(page->out, of);
	}
	if (begun)
		html_table_end(page->out);
}

static void compare_html_measured(const struct page *page)
{
	html_section(page->out, "measured", "What was measured");
	for (int i = COMPARE_RATES; i <= COMPARE_COUNTS; i++)
		compare_html_group(page, (enum compare_group)i,
				   "Number|A#|B#|Change#|Is it clear?");
	fputs("<p class=\"small\">± is half of a 95% interval. A difference is clear "
	      "where the intervals do not overlap and it is at least half a "
	      "percent.</p>\n</section>\n",
	      page->out);
}

static void compare_html_same(const struct page *page)
{
	if (page->rows->same == 0)
		return;
	fprintf(page->out, "<details><summary>%zu are the same</summary>\n",
		page->rows->same);
	html_table(page->out, "Settings and facts that are the same", "What|A and B");
	for (size_t i = 0; i < page->rows->count; i++) {
		const struct compare_row *of = &page->rows->rows[i];

		if (compare_is_shown(of))
			continue;
		compare_html_name(page->out, of);
		compare_html_value(page->out, of, &of->a);
		fputs("</tr>\n", page->out);
	}
	html_table_end(page->out);
	fputs("</details>\n", page->out);
}

static void compare_html_settings(const struct page *page)
{
	html_section(page->out, "settings", "Settings, data and machine");
	if (page->rows->same == page->rows->settings)
		fputs("<p>None of them differs.</p>\n", page->out);
	for (int i = COMPARE_LOADER; i < COMPARE_GROUPS; i++)
		compare_html_group(page, (enum compare_group)i, "What|A|B");
	compare_html_same(page);
	fputs("</section>\n", page->out);
}

static int fill_json(FILE *out, const void *context, struct error *err)
{
	const struct page *page = context;

	return compare_json(page->compare, page->rows, NULL, out, err);
}

int compare_html(const struct compare *compare, const struct compare_rows *rows,
		 const struct form_style *style, FILE *out, struct error *err)
{
	const struct page page = {compare, rows, out};
	const struct html_end end = {DSA_VERSION, "comparison", "dsa compare --json",
				     fill_json, &page};
	char *title;

	(void)style;
	if (asprintf(&title, "%s and %s", compare->a_name, compare->b_name) < 0)
		return error_set(err, ENOMEM, "no memory for the comparison");
	html_begin(out, title);
	free(title);
	compare_html_head(&page);
	fputs("<main>\n", out);
	compare_html_causes(&page);
	compare_html_bars(&page);
	compare_html_measured(&page);
	compare_html_settings(&page);
	return html_end(out, &end, err);
}
