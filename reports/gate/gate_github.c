/*
 * gate_github.c - the verdict of a gate as workflow commands of GitHub, which become
 * annotations of the run:
 *
 *	::error title=dsa gate%3A fetch_stall::12.1% to 30.3%, limit 5 pt%0Awhy
 */
#include "reports/common/escape.h"
#include "reports/gate/gate_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Visible text; what would end a command's part is written in hexadecimal. */
static void gate_github_write_text(FILE *out, const char *text, const char *ends)
{
	char shown[GATE_PART_TEXT];

	for (const char *at = escape_to(shown, sizeof(shown), text); *at != '\0'; at++)
		if (strchr(ends, *at) != NULL)
			fprintf(out, "%%%02X", (unsigned char)*at);
		else
			putc(*at, out);
}

static void gate_github_begin(FILE *out, const char *level, const char *title)
{
	fprintf(out, "::%s title=dsa gate%%3A ", level);
	gate_github_write_text(out, title, "%:,");
	fputs("::", out);
}

static void gate_github_write_line(FILE *out, const char *line)
{
	fputs("%0A", out);
	gate_github_write_text(out, line, "%");
}

static void gate_github_write_lines(FILE *out, char *const *lines, size_t count)
{
	for (size_t i = 0; i < count && i < GATE_PART_LINES; i++)
		gate_github_write_line(out, lines[i]);
	if (count > GATE_PART_LINES)
		fprintf(out, "%%0Aand %zu more", count - GATE_PART_LINES);
}

/* Frees it. 0 or -ENOMEM. */
static int gate_github_write_sentence(FILE *out, char *text)
{
	if (text != NULL && *text != '\0')
		gate_github_write_line(out, text);
	free(text);
	return text == NULL ? -ENOMEM : 0;
}

static int gate_github_write_verdict(FILE *out, const struct gate_report *report)
{
	const struct gate_verdict *verdict = report->verdict;
	static const char *const levels[] = {
		[GATE_PASS] = "notice",          [GATE_REGRESSION] = "error",
		[GATE_INCONCLUSIVE] = "warning", [GATE_MISMATCH] = "error",
		[GATE_IMPROVEMENT] = "notice",
	};
	size_t count;
	char *const *causes = gate_part_causes(verdict, &count);

	gate_github_begin(out, levels[verdict->outcome],
			  gate_outcome_name(verdict->outcome));
	gate_github_write_text(out, verdict->why, "%");
	gate_github_write_lines(out, verdict->mismatches, verdict->mismatch_count);
	gate_github_write_lines(out, causes, count);
	gate_github_write_lines(out, verdict->settings, verdict->setting_count);
	if (gate_github_write_sentence(out, gate_part_advice(verdict)) < 0 ||
	    gate_github_write_sentence(out, gate_part_basis(verdict, report->seconds)) <
		    0)
		return -ENOMEM;
	putc('\n', out);
	return 0;
}

/* NULL: not worth an annotation. */
static const char *gate_github_level(const struct gate_finding *finding)
{
	static const char *const levels[] = {
		[GATE_PASSED] = NULL,         [GATE_REGRESSED] = "error",
		[GATE_UNDECIDED] = "warning", [GATE_MISSING] = "error",
		[GATE_INFORMS] = "notice",    [GATE_IMPROVED] = "notice",
	};

	return finding->status == GATE_INFORMS &&
			       !(finding->worse.value > finding->limit)
		       ? NULL
		       : levels[finding->status];
}

static void write_finding(FILE *out, const struct gate_finding *finding)
{
	char change[GATE_PART_TEXT];
	struct gate_cells cells;

	gate_part_cells(finding, &cells);
	gate_github_begin(out, gate_github_level(finding), finding->name);
	snprintf(change, sizeof(change), "%s to %s, change %s, limit %s", cells.base,
		 cells.now, cells.change, cells.limit);
	gate_github_write_text(out, change, "%");
	fputs("%0A", out);
	gate_github_write_text(out, finding->why, "%");
	putc('\n', out);
}

int gate_github_write(const struct gate_report *report,
		      const struct gate_finding *const *ranked,
		      const struct form_style *style, FILE *out, struct error *err)
{
	const struct gate_verdict *verdict = report->verdict;
	size_t written = 0, more = 0;

	(void)style;
	(void)err;
	if (verdict->outcome != GATE_PASS || verdict->setting_count > 0) {
		if (gate_github_write_verdict(out, report) < 0)
			return -ENOMEM;
		written++;
	}
	for (size_t i = 0; i < verdict->count; i++) {
		if (gate_github_level(ranked[i]) == NULL)
			continue;
		if (written == GATE_ANNOTATIONS) {
			more++;
			continue;
		}
		write_finding(out, ranked[i]);
		written++;
	}
	if (more > 0)
		fprintf(out,
			"dsa gate: %zu more metrics are not annotated; the summary and "
			"the report list them\n",
			more);
	return 0;
}
