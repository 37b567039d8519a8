/* gate_print.c - prints a verdict in every form asked for; finds the exit status. */
#include "cmd/common/cmd.h"
#include "cmd/common/result.h"
#include "cmd/gate/gate_options.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "reports/gate/gate_form.h"
#include "reports/terminal/terminal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

bool gate_options_is_standard(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

/* Checks that a file can be made in its folder. */
static int writable_beside(const char *path, struct error *err)
{
	char folder[PATH_MAX];
	struct stat status;
	char *slash;

	if (path == NULL || gate_options_is_standard(path))
		return 0;
	if (snprintf(folder, sizeof(folder), "%s", path) >= (int)sizeof(folder))
		return error_sys(err, ENAMETOOLONG, "cannot write %.80s", path);
	slash = strrchr(folder, '/');
	if (slash == NULL)
		strcpy(folder, ".");
	else
		slash[slash == folder] = '\0';
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return error_sys(err, EISDIR, "cannot write %s", path);
	if (access(folder, W_OK | X_OK) < 0)
		return error_sys(err, errno, "cannot write %s", path);
	return 0;
}

static const char *summary_file(const struct gate_options *ask)
{
	const char *path = ask->github ? getenv("GITHUB_STEP_SUMMARY") : NULL;

	return path != NULL && path[0] != '\0' ? path : NULL;
}

int gate_options_writable(const struct gate_options *ask, struct error *err)
{
	const char *const paths[] = {ask->update ? ask->baseline : NULL, ask->junit,
				     ask->markdown, summary_file(ask)};
	int result = ask->output != NULL ? result_folder(ask->output, err) : 0;

	for (size_t i = 0; result == 0 && i < sizeof(paths) / sizeof(paths[0]); i++)
		result = writable_beside(paths[i], err);
	return result;
}

/* All that can be written. -errno and *err: of the first that can't. */
static int write_files(const struct gate_options *ask, const struct gate_report *report,
		       struct error *err)
{
	char json[PATH_MAX];
	const struct {
		const char *form, *path;
		bool append;
	} files[] = {{"json", ask->output != NULL ? json : NULL, false},
		     {"junit", ask->junit, false},
		     {"markdown", ask->markdown, false},
		     {"summary", summary_file(ask), true}};
	int result = 0;

	snprintf(json, sizeof(json), "%s/gate.json",
		 ask->output != NULL ? ask->output : "");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct error own = {0};

		if (files[i].path == NULL ||
		    gate_form_save(files[i].form, report, files[i].path,
				   files[i].append, &own) == 0)
			continue;
		if (result == 0)
			*err = own;
		result = -err->code;
	}
	return result;
}

static int gate_print_show(const char *name, const struct gate_report *report,
			   struct error *err)
{
	struct form_style style = terminal_style(stdout);

	return gate_form_write(name, report, &style, stdout, err);
}

/* GitHub looks for commands in every line; names of files may look like one. */
static int show_text_on_github(const struct gate_report *report, struct error *err)
{
	unsigned long long token[2];
	int result;

	if (getrandom(token, sizeof(token), 0) < 0)
		return error_sys(err, errno, "a token for GitHub");
	printf("::stop-commands::%016llx%016llx\n", token[0], token[1]);
	result = gate_print_show("text", report, err);
	printf("::%016llx%016llx::\n", token[0], token[1]);
	return result;
}

/* Prints on standard output, for a person or the next program. */
static int gate_print_forms(const struct gate_options *ask,
			    const struct gate_report *report, struct error *err)
{
	int result = 0;

	if (ask->json)
		result = gate_print_show("json", report, err);
	else if (!ask->quiet && !gate_options_is_standard(ask->markdown) &&
		 !gate_options_is_standard(ask->junit))
		result = ask->github ? show_text_on_github(report, err)
				     : gate_print_show("text", report, err);
	if (result == 0 && ask->github)
		result = gate_print_show("github", report, err);
	return result;
}

/* True when noise allowed no answer; false when there was nothing to compare. */
static bool is_noise_alone(const struct gate_verdict *verdict)
{
	return gate_verdict_first(verdict, GATE_MISSING) == NULL &&
	       gate_verdict_first(verdict, GATE_UNDECIDED) != NULL;
}

static int gate_print_status_of(const struct gate_options *ask,
				const struct gate_verdict *verdict)
{
	switch (verdict->outcome) {
	case GATE_PASS:
	case GATE_IMPROVEMENT:
		return 0;
	case GATE_REGRESSION:
		return 1;
	case GATE_MISMATCH:
		return GATE_STATUS_MISMATCH;
	case GATE_INCONCLUSIVE:
	default:
		return ask->inconclusive == 0 && !is_noise_alone(verdict)
			       ? GATE_STATUS_INCONCLUSIVE
			       : ask->inconclusive;
	}
}

int gate_print(const struct gate_options *ask, const struct gate_verdict *verdict,
	       double seconds)
{
	struct error err = {0}, unprinted = {0};
	char when[CLOCK_UTC];
	const struct gate_report report = {
		.verdict = verdict,
		.name = ask->baseline != NULL ? ask->baseline : "the other command",
		.command = ask->measure.repeat,
		.link = ask->output,
		.seconds = seconds,
		.when = when,
	};
	int written, printed;

	clock_utc(when);
	written = write_files(ask, &report, &err);
	printed = gate_print_forms(ask, &report, &unprinted);
	if (printed < 0)
		return cmd_fail(&unprinted);
	return written < 0 ? cmd_fail(&err) : gate_print_status_of(ask, verdict);
}
