/*
 * gate_markdown.c - the verdict of a gate as Markdown: a comment on a change, and a
 * step summary.
 */
#include "loader/base/io.h"
#include "reports/common/escape.h"
#include "reports/common/markdown.h"
#include "reports/gate/gate_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND = 4096 /* bytes of the longest command that is shown */ };

/* Cut if it is long. */
static void gate_markdown_write_text(FILE *out, const char *text)
{
	char shown[GATE_PART_TEXT];

	markdown_text(out, escape_to(shown, sizeof(shown), text));
}

/* A name of ours stands as code; another's as words. */
static void write_name(FILE *out, const char *name)
{
	static const char ours[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	char shown[128];

	if (*name != '\0' && name[strspn(name, ours)] == '\0' && strlen(name) < 64)
		fprintf(out, "`%s`", name);
	else
		markdown_text(out, escape_to(shown, sizeof(shown), name));
}

static void gate_markdown_write_row(FILE *out, const struct gate_finding *finding,
				    size_t place)
{
	struct gate_cells cells;

	(void)place;
	gate_part_cells(finding, &cells);
	fprintf(out, "| %s | ", gate_part_status_sign(finding->status, false));
	write_name(out, finding->name);
	fprintf(out, " | %s | %s | %s", cells.base, cells.now, cells.change);
	if (*cells.range != '\0')
		fprintf(out, " (%s)", cells.range);
	fprintf(out, " | %s | %s", cells.limit, gate_part_status(finding->status));
	if (*finding->why != '\0')
		fputs(": ", out);
	gate_markdown_write_text(out, finding->why);
	fputs(" |\n", out);
}

static void gate_markdown_write_lines(FILE *out, const char *title, char *const *lines,
				      size_t count)
{
	if (count == 0)
		return;
	fprintf(out, "**%s:**\n\n", title);
	for (size_t i = 0; i < count && i < GATE_PART_LINES; i++) {
		fputs("- ", out);
		gate_markdown_write_text(out, lines[i]);
		putc('\n', out);
	}
	if (count > GATE_PART_LINES)
		fprintf(out, "- and %zu more\n", count - GATE_PART_LINES);
	putc('\n', out);
}

static void gate_markdown_write_head(FILE *out, const struct gate_report *report)
{
	const struct gate_verdict *verdict = report->verdict;
	size_t count;
	char *const *causes = gate_part_causes(verdict, &count);

	fprintf(out, "### %s dsa gate: %s\n\n",
		gate_part_outcome_sign(verdict->outcome, false),
		gate_outcome_name(verdict->outcome));
	if (*verdict->why != '\0') {
		fputs("**Why:** ", out);
		gate_markdown_write_text(out, verdict->why);
		fputs("\n\n", out);
	}
	gate_markdown_write_lines(out, "Not equal", verdict->mismatches,
				  verdict->mismatch_count);
	gate_markdown_write_lines(out, "Causes", causes, count);
	gate_markdown_write_lines(out, "Other settings", verdict->settings,
				  verdict->setting_count);
	if (verdict->count > 0)
		fputs("| | metric | before | now | change | limit | verdict |\n"
		      "|:-:|:--|--:|--:|--:|--:|:--|\n",
		      out);
}

/* Code in a fence that it can't close. */
static void write_command(FILE *out, const char *command)
{
	size_t longest = 2, run = 0;

	if (command == NULL || strlen(command) > COMMAND)
		return;
	for (const char *at = command; *at != '\0'; at++) {
		run = *at == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	fputs("Do it again:\n\n", out);
	for (size_t i = 0; i <= longest; i++)
		putc('`', out);
	fputs("sh\n", out);
	escape_plain(out, command);
	putc('\n', out);
	for (size_t i = 0; i <= longest; i++)
		putc('`', out);
	fputs("\n\n", out);
}

/* Writes a separate line; none where there is nothing to say. */
static void write_pointer(FILE *out, const char *title, const char *text)
{
	if (text == NULL || *text == '\0')
		return;
	fprintf(out, "**%s:** ", title);
	gate_markdown_write_text(out, text);
	fputs("\n\n", out);
}

/* The same, freed. 0 or -ENOMEM. */
static int write_sentence(FILE *out, const char *title, char *text)
{
	write_pointer(out, title, text);
	free(text);
	return text == NULL ? -ENOMEM : 0;
}

static int gate_markdown_write_foot(FILE *out, const struct gate_report *report)
{
	const struct gate_verdict *verdict = report->verdict;

	if (write_sentence(out, "To do", gate_part_advice(verdict)) < 0 ||
	    write_sentence(out, "Can see", gate_part_seen(verdict)) < 0 ||
	    write_sentence(out, "Based on", gate_part_basis(verdict, report->seconds)) <
		    0)
		return -ENOMEM;
	write_pointer(out, "Busy", verdict->busy);
	write_pointer(out, "Against", report->name);
	write_pointer(out, "Report", report->link);
	write_command(out, report->command);
	return 0;
}

/* What stands around the rows, with room for the line that counts those left out. */
struct around {
	char *head, *foot;
	size_t head_size, foot_size;
};

enum { LEFT_OUT = 128 };

static int write_around(const struct gate_report *report, struct around *around)
{
	FILE *out = open_memstream(&around->head, &around->head_size);
	int result = 0;

	if (out == NULL)
		return -ENOMEM;
	gate_markdown_write_head(out, report);
	if (io_text(out, &around->head) == NULL)
		return -ENOMEM;
	out = open_memstream(&around->foot, &around->foot_size);
	if (out == NULL)
		return -ENOMEM;
	result = gate_markdown_write_foot(out, report);
	return io_text(out, &around->foot) == NULL ? -ENOMEM : result;
}

static int write_between(const struct gate_finding *const *ranked, size_t count,
			 const struct around *around, size_t most, FILE *out)
{
	struct gate_rows rows;
	int result =
		gate_part_rows(ranked, count, most, gate_markdown_write_row, &rows);

	if (result < 0)
		return result;
	fwrite(around->head, 1, around->head_size, out);
	fwrite(rows.text, 1, rows.size, out);
	if (count > 0)
		putc('\n', out);
	if (rows.shown < count)
		fprintf(out,
			"%zu of %zu metrics are left out here; the worst are "
			"shown.\n\n",
			count - rows.shown, count);
	fwrite(around->foot, 1, around->foot_size, out);
	free(rows.text);
	return 0;
}

/* Nothing is better than a file that is refused as a whole: then one line, or none. */
static void write_least(const struct gate_report *report, size_t most, FILE *out)
{
	const char *word = gate_outcome_name(report->verdict->outcome);

	if (strlen(word) + LEFT_OUT < most)
		fprintf(out, "### dsa gate: %s (no room here to say why)\n", word);
}

static int write_markdown(const struct gate_report *report,
			  const struct gate_finding *const *ranked, size_t most,
			  FILE *out)
{
	struct around around = {0};
	int result = write_around(report, &around);
	size_t taken = report->before + around.head_size + around.foot_size + LEFT_OUT;

	if (result == 0 && taken <= most)
		result = write_between(ranked, report->verdict->count, &around,
				       most - taken, out);
	else if (result == 0 && report->before < most)
		write_least(report, most - report->before, out);
	free(around.head);
	free(around.foot);
	return result;
}

int gate_comment_write(const struct gate_report *report,
		       const struct gate_finding *const *ranked,
		       const struct form_style *style, FILE *out, struct error *err)
{
	(void)style;
	(void)err;
	return write_markdown(report, ranked, GATE_MARKDOWN_MOST, out);
}

int gate_summary_write(const struct gate_report *report,
		       const struct gate_finding *const *ranked,
		       const struct form_style *style, FILE *out, struct error *err)
{
	(void)style;
	(void)err;
	return write_markdown(report, ranked, GATE_SUMMARY_MOST - 1, out);
}
