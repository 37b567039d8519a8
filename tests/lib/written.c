/* written.c - writes verdicts, and reads what was written. */
#include "tests/lib/written.h"
#include "reports/common/escape.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gate_report written_report(const struct gate_verdict *verdict)
{
	return (struct gate_report){verdict,
				    "base.json",
				    "dsa gate -- ./train",
				    "out/report.html",
				    61.25,
				    "2026-11-20T20:00:00Z",
				    0};
}

char *written_form(const char *name, const struct gate_report *report,
		   const struct form_style *style)
{
	const struct form_style file = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(
		gate_form_write(name, report, style == NULL ? &file : style, out, NULL),
		0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	return text;
}

char *written_usual(const char *name)
{
	struct gate_verdict verdict;
	struct gate_report report;
	char *text;

	verdict_make(&verdict);
	report = written_report(&verdict);
	text = written_form(name, &report, NULL);
	gate_verdict_free(&verdict);
	return text;
}

char *written_hostile(const char *name, size_t count)
{
	struct gate_verdict verdict;
	struct gate_report report;
	char *text;

	verdict_make_hostile(&verdict, count);
	report = written_report(&verdict);
	report.name = report.command = report.link = verdict_hostile;
	text = written_form(name, &report, NULL);
	gate_verdict_free(&verdict);
	return text;
}

/* By strchr(): to a sanitizer each strstr() reads the whole text. */
size_t written_count(const char *text, const char *part)
{
	size_t count = 0, length = strlen(part);

	while ((text = strchr(text, *part)) != NULL) {
		bool found = strncmp(text, part, length) == 0;

		text += found ? length : 1;
		count += found;
	}
	return count;
}

void written_first(const char *text, const char *before, const char *after)
{
	const char *first = strstr(text, before), *second = strstr(text, after);

	assert_non_null(first);
	assert_non_null(second);
	assert_true(first < second);
}

void written_plain(const char *text)
{
	char piece[ESCAPE_PIECE];

	for (size_t taken; (taken = escape_next(text, piece)) > 0; text += taken)
		if (*text != '\n')
			assert_memory_equal(text, piece, taken);
}

bool written_has(const char *command)
{
	return system(command) == 0; /* NOLINT(cert-env33-c): a test's own words */
}

char *written_read_by(const char *command, const char *text, int *status)
{
	char *said = NULL, line[4096];
	size_t size;
	FILE *in, *out = open_memstream(&said, &size);

	scratch_text("FILE", text);
	in = popen(command, "r"); /* NOLINT(cert-env33-c): a test's own words */
	assert_non_null(in);
	while (fgets(line, sizeof(line), in) != NULL)
		fputs(line, out);
	*status = pclose(in);
	fclose(out);
	return said;
}
