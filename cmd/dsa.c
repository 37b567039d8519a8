/* dsa.c - finds the command that is meant, and runs it. */
#include "cmd/common/cmd.h"
#include "cmd/common/defaults.h"
#include "loader/base/error.h"
#include "loader/base/text/near.h"
#include "reports/common/escape.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
#define ENTRY(name) &command_##name,
	COMMANDS(ENTRY) NULL,
#undef ENTRY
};

const struct command command_dsa = {
	.name = "dsa",
	.summary = "find out how long a training job waits for data, and why",
	.below = commands,
};

/* It has said that it could not. */
static bool dsa_failed;

/* A full disk must not look like success, nor where argp ends the program after its help.
 * The reason of an error that came earlier is gone: one more byte tells it again. */
static void dsa_flush(void)
{
	bool failed = fflush(stdout) != 0;

	if (!failed && !ferror(stdout))
		return;
	if (!failed && (putchar('\n') == EOF || fflush(stdout) != 0))
		failed = true;
	if (!dsa_failed)
		fprintf(stderr, "dsa: standard output: %s\n",
			failed ? strerror(errno) : "not all could be written");
	_exit(3);
}

static void dsa_usage(FILE *to, const struct command *command, const char *title)
{
	fprintf(to, "usage: %s COMMAND [OPTION...]\n%s\n\n", title, command->summary);
	for (size_t i = 0; command->below[i] != NULL; i++)
		fprintf(to, "  %-12s%s\n", command->below[i]->name,
			command->below[i]->summary);
	fprintf(to, "\n'%s help COMMAND' says more about one of them.\n", title);
}

static const struct command *dsa_find(const struct command *command, const char *name)
{
	for (size_t i = 0; command->below[i] != NULL; i++)
		if (strcmp(command->below[i]->name, name) == 0)
			return command->below[i];
	return NULL;
}

/* Runs a command with the options that nobody typed before those that somebody did. */
static int run_command(const struct command *command, int argc, char **argv)
{
	struct defaults defaults = {.root = &command_dsa};
	struct error err = {0};
	int result = defaults_init(&defaults, command, argc, argv, &err), status;

	if (result == 0) {
		status = command->run(command, defaults.argc, defaults.argv);
	} else {
		cmd_fail(&err);
		status = result == -ENOMEM ? 3 : 2;
	}
	defaults_fini(&defaults);
	return status;
}

/* "help X Y" means "X Y --help"; argv has room for as many. */
static int turn_help(int argc, char **argv)
{
	static char help[] = "--help";

	memmove(&argv[1], &argv[2], (size_t)(argc - 2) * sizeof(*argv));
	argv[argc - 1] = help;
	return argc;
}

static int dsa_refuse(const struct command *command, const char *name,
		      const char *title)
{
	const char *best = NULL;
	unsigned least = NEAR_FAR;

	for (size_t i = 0; command->below[i] != NULL; i++) {
		unsigned slips = near_slips(name, command->below[i]->name);

		if (slips < least) {
			least = slips;
			best = command->below[i]->name;
		}
	}
	fputs("dsa: no command is called '", stderr);
	escape_plain(stderr, name);
	if (best != NULL)
		fprintf(stderr, "'; did you mean %s %s?\n", title, best);
	else
		fprintf(stderr, "'; see %s --help\n", title);
	return 2;
}

static int dsa_run(const struct command *command, const char *title, int argc,
		   char **argv)
{
	const struct command *next;
	char longer[64]; /* what argp calls us in messages */

	if (command->run != NULL)
		return run_command(command, argc, argv);
	if (argc < 2) {
		dsa_usage(stderr, command, title);
		return 2;
	}
	if (strcmp(argv[1], "help") == 0)
		argc = turn_help(argc, argv);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		dsa_usage(stdout, command, title);
		return 0;
	}
	next = dsa_find(command, argv[1]);
	if (next == NULL) {
		return dsa_refuse(command, argv[1], title);
	}
	snprintf(longer, sizeof(longer), "%s %s", title, next->name);
	argv[1] = longer;
	return dsa_run(next, longer, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int status;

	/* Who started dsa may have ignored it; then no end of a child could be seen. */
	signal(SIGCHLD, SIG_DFL);
	argp_err_exit_status = 2;
	if (atexit(dsa_flush) != 0)
		return 3;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("dsa " DSA_VERSION);
		return 0;
	}
	status = dsa_run(&command_dsa, "dsa", argc, argv);
	dsa_failed = status == 3;
	return status;
}
