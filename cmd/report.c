/* report.c - shows the result of a run again, in the form that is asked for. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/result.h"
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/form.h"
#include "reports/terminal/terminal.h"

struct report {
	const char *run;
	const char *format;
	const char *output;
};

#define FORMS "text|html|json|csv|markdown"

#define TO(kind, member) ARGUMENT(report, kind, member)

static const struct argument arguments[] = {
	{"format", 'f', FORMS, TO(NAME, format),
	 "Which form (default: as FILE ends, else text)"},
	{"json", 0, NULL, ARGUMENT_BY(report, format, argument_set_json),
	 "The same as --format=json"},
	{"output", 'o', "FILE", TO(TEXT, output),
	 "Write to FILE instead of standard output"},
	{NULL, 0, "RUN", TO(ONE, run), "which RUN? (a run's folder or its run.json)"},
	{0},
};

static int report_show(const struct report *report, const struct profile *profile,
		       struct error *err)
{
	struct form_style style = terminal_style(stdout);

	if (report->output != NULL)
		return form_save(report->format, profile, report->output, err);
	return form_find(report->format, err)->write(profile, &style, stdout, err);
}

static int report_run(const struct command *self, int argc, char **argv)
{
	struct report report = {0};
	struct profile profile;
	struct error err = {0};
	int result;

	argument_read(self, argc, argv, &report);
	report.format = result_form(report.format, report.output, FORMS);
	profile_init(&profile);
	result = result_load(report.run, &profile, &err);
	if (result == 0)
		result = report_show(&report, &profile, &err);
	profile_free(&profile);
	return result < 0 ? cmd_fail(&err) : 0;
}

const struct command command_report = {
	.name = "report",
	.summary = "show the result of a run as text, HTML, JSON, CSV or Markdown",
	.arguments = arguments,
	.doc = "Show the result of a run, in text, HTML, JSON, CSV or Markdown.",
	.run = report_run,
};
