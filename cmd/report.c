/* report.c - shows the result of a run again, in the form that is asked for. */
#include "cmd/common/cmd.h"
#include "cmd/common/result.h"
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/form.h"
#include "reports/terminal/terminal.h"

#include <argp.h>
#include <stddef.h>

struct report {
	const char *run;
	const char *format;
	const char *output;
};

static const struct argp_option options[] = {
	{"format", 'f', "text|html|json|csv", 0, "Which form (default text)", 0},
	{"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
	{0},
};

static error_t report_parse(int key, char *arg, struct argp_state *state)
{
	struct report *report = state->input;
	struct error err = {0};

	switch (key) {
	case 'f':
		if (form_find(arg, &err) == NULL)
			argp_error(state, "%s", err.message);
		report->format = arg;
		return 0;
	case 'o':
		report->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (report->run != NULL)
			argp_error(state, "one RUN at a time");
		report->run = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which RUN? (a run's folder or its run.json)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = report_parse,
	.args_doc = "RUN",
	.doc = "Show the result of a run, in text, HTML, JSON or CSV.",
};

static int report_show(const struct report *report, const struct profile *profile,
		       struct error *err)
{
	struct form_style style = terminal_style(stdout);

	if (report->output != NULL)
		return form_save(report->format, profile, report->output, err);
	return form_find(report->format, err)->write(profile, &style, stdout, err);
}

static int report_run(int argc, char **argv)
{
	struct report report = {.format = "text"};
	struct profile profile;
	struct error err = {0};
	int result;

	argp_parse(&argp, argc, argv, 0, NULL, &report);
	profile_init(&profile);
	result = result_load(report.run, &profile, &err);
	if (result == 0)
		result = report_show(&report, &profile, &err);
	profile_free(&profile);
	return result < 0 ? cmd_fail(&err) : 0;
}

const struct command command_report = {
	.name = "report",
	.summary = "show the result of a run as text, HTML, JSON or CSV",
	.argp = &argp,
	.run = report_run,
};
