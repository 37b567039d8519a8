/* compare_runs.c - dsa compare: why two runs differ, and every number of both. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/result.h"
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/common/file.h"
#include "reports/compare/compare.h"
#include "reports/terminal/terminal.h"

#define FORMS "text|json|html|markdown"

struct comparison {
	const char *runs[2];
	const char *format, *output;
};

static void compare_runs_add(struct argp_state *state, void *asked, const char *run)
{
	struct comparison *comparison = asked;

	if (state->arg_num > 1)
		argument_error(state, "two runs at a time, not '%s', too", run);
	comparison->runs[state->arg_num] = run;
}

static void compare_runs_count(struct argp_state *state, void *asked)
{
	(void)asked;
	if (state->arg_num < 2)
		argument_error(state,
			       "which two? (each a run's folder or its run.json)");
}

static const struct argument arguments[] = {
	{"format", 'f', FORMS, ARGUMENT(comparison, NAME, format),
	 "Which form (default: as FILE ends, else text)"},
	{"json", 0, NULL, ARGUMENT_BY(comparison, format, argument_set_json),
	 "The same as --format=json"},
	{"output", 'o', "FILE", ARGUMENT(comparison, TEXT, output),
	 "Write to FILE instead of standard output"},
	{NULL, 0, "RUN RUN", ARGUMENT_ALL_BY(EACH, compare_runs_add), NULL},
	{0},
};

struct saving {
	const struct comparison *comparison;
	const struct compare *compare;
};

static int compare_runs_fill(FILE *out, const void *context, struct error *err)
{
	const struct saving *saving = context;
	const struct form_style style = {0};

	return compare_write(saving->comparison->format, saving->compare, &style, out,
			     err);
}

static int compare_runs_print(const struct comparison *comparison,
			      const struct compare *compare, struct error *err)
{
	const struct saving saving = {comparison, compare};
	struct form_style style = terminal_style(stdout);

	if (comparison->output != NULL)
		return file_save(comparison->output, compare_runs_fill, &saving, err);
	return compare_write(comparison->format, compare, &style, stdout, err);
}

static int compare_main(const struct command *self, int argc, char **argv)
{
	struct comparison asked = {0};
	struct profile a, b;
	struct compare compare = {.a = &a, .b = &b};
	struct error err = {0};
	int result;

	argument_read(self, argc, argv, &asked);
	asked.format = result_form(asked.format, asked.output, FORMS);
	compare.a_name = asked.runs[0];
	compare.b_name = asked.runs[1];
	profile_init(&a);
	profile_init(&b);
	result = result_load(asked.runs[0], &a, &err);
	if (result == 0)
		result = result_load(asked.runs[1], &b, &err);
	if (result == 0)
		result = compare_runs_print(&asked, &compare, &err);
	profile_free(&a);
	profile_free(&b);
	return result < 0 ? cmd_fail(&err) : 0;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "say why two runs differ",
	.arguments = arguments,
	.check = compare_runs_count,
	.doc = "Say why the second run differs from the first one: causes first, then "
	       "every number of both.",
	.run = compare_main,
};
