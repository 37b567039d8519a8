/*
 * gate_junit.c - the verdict of a gate as JUnit XML, as Jenkins, GitLab and GitHub's
 * actions read it: a suite, a test case a metric.
 */
#include "reports/common/escape.h"
#include "reports/gate/gate_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What stands around the test cases: texts are short, and escaped at most six times as
 * long. */
enum { AROUND = (3 * GATE_PART_LINES + 16) * 6 * GATE_PART_TEXT, NAME = 160 };

/* NAME="text", cut if it is long. */
static void gate_junit_attribute(FILE *out, const char *name, const char *text)
{
	char shown[GATE_PART_TEXT];

	fprintf(out, " %s=\"", name);
	escape_html(out, escape_to(shown, sizeof(shown), text));
	putc('"', out);
}

/* The element of what did not pass, or NULL. */
static const char *gate_junit_element(enum gate_status status)
{
	static const char *const elements[] = {
		[GATE_PASSED] = NULL,       [GATE_REGRESSED] = "failure",
		[GATE_UNDECIDED] = "error", [GATE_MISSING] = "error",
		[GATE_INFORMS] = "skipped", [GATE_IMPROVED] = NULL,
	};

	return elements[status];
}

static void write_result(FILE *out, const struct gate_finding *finding)
{
	const char *name = gate_junit_element(finding->status);

	if (name == NULL)
		return;
	fprintf(out, "   <%s", name);
	if (finding->status != GATE_INFORMS)
		gate_junit_attribute(out, "type", gate_status_name(finding->status));
	gate_junit_attribute(out, "message", finding->why);
	fputs("/>\n", out);
}

/* Names are numbered where two are the same: of these only one would be kept. */
static void write_case(FILE *out, const struct gate_finding *finding, size_t place)
{
	struct gate_cells cells;
	char shown[NAME];

	gate_part_cells(finding, &cells);
	fputs("  <testcase classname=\"dsa.gate\" name=\"", out);
	escape_html(out, escape_to(shown, sizeof(shown), finding->name));
	if (place != SIZE_MAX)
		fprintf(out, " #%zu", place + 1);
	fputs("\" time=\"0\">\n", out);
	write_result(out, finding);
	fprintf(out,
		"   <system-out>%sbefore %s, now %s, change %s%s%s%s, limit "
		"%s</system-out>\n  </testcase>\n",
		finding->status == GATE_IMPROVED ? "improvement: " : "", cells.base,
		cells.now, cells.change, *cells.range == '\0' ? "" : " (", cells.range,
		*cells.range == '\0' ? "" : ")", cells.limit);
}

static void write_plain(FILE *out, const struct gate_finding *finding, size_t place)
{
	(void)place;
	write_case(out, finding, SIZE_MAX);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* 1: two metrics are shown by the same name; 0: none are; -ENOMEM. */
static int has_twins(const struct gate_finding *const *ranked, size_t count)
{
	char(*sorted)[NAME] = calloc(count + 1, sizeof(*sorted));
	int twins = 0;

	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		escape_to(sorted[i], sizeof(sorted[i]), ranked[i]->name);
	qsort(sorted, count, sizeof(*sorted), by_name);
	for (size_t i = 1; i < count && !twins; i++)
		twins = strcmp(sorted[i - 1], sorted[i]) == 0;
	free(sorted);
	return twins;
}

/* The verdict as a status: a gate that did not pass is no suite that passed. */
static enum gate_status gate_junit_whole(const struct gate_verdict *verdict)
{
	static const enum gate_status statuses[] = {
		[GATE_PASS] = GATE_PASSED,
		[GATE_REGRESSION] = GATE_REGRESSED,
		[GATE_INCONCLUSIVE] = GATE_UNDECIDED,
		[GATE_MISMATCH] = GATE_MISSING,
		[GATE_IMPROVEMENT] = GATE_IMPROVED,
	};

	return statuses[verdict->outcome];
}

struct totals {
	size_t tests, failures, errors, skipped;
};

static void gate_junit_count(struct totals *totals, enum gate_status status)
{
	totals->tests++;
	totals->failures += status == GATE_REGRESSED;
	totals->errors += status == GATE_UNDECIDED || status == GATE_MISSING;
	totals->skipped += status == GATE_INFORMS;
}

static void write_totals(FILE *out, const struct totals *totals, double seconds)
{
	fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", totals->tests,
		totals->failures, totals->errors);
	if (isfinite(seconds) && seconds >= 0 && seconds < 1e12)
		fprintf(out, " time=\"%.3f\"", seconds);
}

static void gate_junit_write_head(FILE *out, const struct gate_report *report,
				  const struct totals *totals)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"dsa "
	      "gate\"",
	      out);
	write_totals(out, totals, report->seconds);
	fputs(">\n <testsuite", out);
	gate_junit_attribute(out, "name",
			     report->name == NULL ? "dsa gate" : report->name);
	write_totals(out, totals, report->seconds);
	fprintf(out, " skipped=\"%zu\"", totals->skipped);
	if (report->when != NULL)
		gate_junit_attribute(out, "timestamp", report->when);
	fputs(">\n", out);
}

static void write_property(FILE *out, const char *name, const char *value)
{
	if (value == NULL || *value == '\0')
		return;
	fprintf(out, "   <property name=\"%s\"", name);
	gate_junit_attribute(out, "value", value);
	fputs("/>\n", out);
}

static int write_properties(FILE *out, const struct gate_report *report)
{
	char *basis = gate_part_basis(report->verdict, report->seconds);
	char *seen = gate_part_seen(report->verdict);
	char *advice = gate_part_advice(report->verdict);

	fputs("  <properties>\n", out);
	write_property(out, "outcome", gate_outcome_name(report->verdict->outcome));
	write_property(out, "command", report->command);
	write_property(out, "report", report->link);
	write_property(out, "to do", advice);
	write_property(out, "based on", basis);
	write_property(out, "can see", seen);
	fputs("  </properties>\n", out);
	free(advice);
	free(seen);
	free(basis);
	return seen == NULL || basis == NULL || advice == NULL ? -ENOMEM : 0;
}

static int gate_junit_write_verdict(FILE *out, const struct gate_report *report)
{
	const struct gate_verdict *verdict = report->verdict;
	const char *name = gate_junit_element(gate_junit_whole(verdict));
	char *basis = gate_part_basis(verdict, report->seconds);

	if (basis == NULL)
		return -ENOMEM;
	fputs("  <testcase classname=\"dsa\" name=\"gate\" time=\"0\">\n", out);
	if (name != NULL) {
		fprintf(out, "   <%s type=\"%s\"", name,
			gate_outcome_name(verdict->outcome));
		gate_junit_attribute(out, "message", verdict->why);
		fputs("/>\n", out);
	}
	fprintf(out, "   <system-out>%s</system-out>\n  </testcase>\n", basis);
	free(basis);
	return 0;
}

static void gate_junit_write_lines(FILE *out, char *const *lines, size_t count)
{
	char shown[GATE_PART_TEXT];

	for (size_t i = 0; i < count && i < GATE_PART_LINES; i++) {
		escape_html(out, escape_to(shown, sizeof(shown), lines[i]));
		putc('\n', out);
	}
	if (count > GATE_PART_LINES)
		fprintf(out, "and %zu more\n", count - GATE_PART_LINES);
}

static void gate_junit_write_foot(FILE *out, const struct gate_verdict *verdict,
				  size_t left_out)
{
	size_t count;
	char *const *causes = gate_part_causes(verdict, &count);

	fputs("  <system-out>", out);
	escape_html(out, verdict->why);
	putc('\n', out);
	gate_junit_write_lines(out, verdict->mismatches, verdict->mismatch_count);
	gate_junit_write_lines(out, causes, count);
	gate_junit_write_lines(out, verdict->settings, verdict->setting_count);
	if (left_out > 0)
		fprintf(out, "%zu metrics are left out here, the worst are shown\n",
			left_out);
	fputs("</system-out>\n </testsuite>\n</testsuites>\n", out);
}

int gate_junit_write(const struct gate_report *report,
		     const struct gate_finding *const *ranked,
		     const struct form_style *style, FILE *out, struct error *err)
{
	const struct gate_verdict *verdict = report->verdict;
	int twins = has_twins(ranked, verdict->count), result;
	struct totals totals = {0};
	struct gate_rows rows;

	(void)style;
	(void)err;
	if (twins < 0)
		return twins;
	result = gate_part_rows(ranked, verdict->count, GATE_JUNIT_MOST - AROUND,
				twins ? write_case : write_plain, &rows);
	if (result < 0)
		return result;
	gate_junit_count(&totals, gate_junit_whole(verdict));
	for (size_t i = 0; i < rows.shown; i++)
		gate_junit_count(&totals, ranked[i]->status);
	gate_junit_write_head(out, report, &totals);
	result = write_properties(out, report);
	if (result == 0)
		result = gate_junit_write_verdict(out, report);
	fwrite(rows.text, 1, rows.size, out);
	gate_junit_write_foot(out, verdict, verdict->count - rows.shown);
	free(rows.text);
	return result;
}
