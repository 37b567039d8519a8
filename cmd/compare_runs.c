/* compare_runs.c - dsa compare: why two runs differ, and every number of both. */
#include "cmd/common/cmd.h"
#include "cmd/common/result.h"
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/common/file.h"
#include "reports/compare/compare.h"
#include "reports/terminal/terminal.h"

#include <argp.h>
#include <stddef.h>

enum { JSON = 300 };

struct comparison {
	const char *runs[2];
	const char *format, *output;
};

static const struct argp_option options[] = {
	{"format", 'f', "text|json|html|markdown", 0, "Which form (default text)", 0},
	{"json", JSON, NULL, 0, "The same as --format=json", 0},
	{"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
	{0},
};

static error_t compare_runs_parse(int key, char *arg, struct argp_state *state)
{
	struct comparison *comparison = state->input;
	struct error err = {0};

	switch (key) {
	case 'f':
		if (compare_check(arg, &err) < 0)
			argp_error(state, "%s", err.message);
		comparison->format = arg;
		return 0;
	case JSON:
		comparison->format = "json";
		return 0;
	case 'o':
		comparison->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "two runs at a time, not '%s', too", arg);
		comparison->runs[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_error(state, "which two? (each a run's folder or its "
					  "run.json)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = compare_runs_parse,
	.args_doc = "RUN RUN",
	.doc = "Say why the second run differs from the first one: causes first, then "
	       "every number of both.",
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

static int compare_main(int argc, char **argv)
{
	struct comparison asked = {.format = "text"};
	struct profile a, b;
	struct compare compare = {.a = &a, .b = &b};
	struct error err = {0};
	int result;

	argp_parse(&argp, argc, argv, 0, NULL, &asked);
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
	.argp = &argp,
	.run = compare_main,
};
