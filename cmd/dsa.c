/* dsa.c - finds the command that is meant, and runs it. */
#include "cmd/common/cmd.h"
#include "cmd/common/defaults.h"
#include "loader/base/error.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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

/* A full disk must not look like success. */
static int dsa_finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (status == 3) /* it has said so itself */
		return status;
	perror("dsa: standard output");
	return 3;
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
	struct defaults defaults;
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
	if (strcmp(argv[1], "--help") == 0) {
		dsa_usage(stdout, command, title);
		return 0;
	}
	next = dsa_find(command, argv[1]);
	if (next == NULL) {
		fprintf(stderr, "dsa: no command is called '%s'; see %s --help\n",
			argv[1], title);
		return 2;
	}
	snprintf(longer, sizeof(longer), "%s %s", title, next->name);
	argv[1] = longer;
	return dsa_run(next, longer, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	/* Who started dsa may have ignored it; then no end of a child could be seen. */
	signal(SIGCHLD, SIG_DFL);
	argp_err_exit_status = 2;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("dsa " DSA_VERSION);
		return dsa_finish(0);
	}
	return dsa_finish(dsa_run(&command_dsa, "dsa", argc, argv));
}
