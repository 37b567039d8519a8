#include "cmd/cmd.h"
#include "loader/base/error.h"

#include <stdio.h>
#include <string.h>

static const struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
#define ENTRY(name, summary) {#name, summary, cmd_##name},
	COMMANDS(ENTRY) {NULL, NULL, NULL},
#undef ENTRY
};

#define COUNT (sizeof(commands) / sizeof(commands[0]) - 1)

static void usage(FILE *to)
{
	fprintf(to, "usage: dsa COMMAND [OPTION...]\n\n");
	for (size_t i = 0; i < COUNT; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
}

int cmd_fail(const struct error *err)
{
	fprintf(stderr, "dsa: %s\n", err->message);
	return 3;
}

/* A full disk must not look like success. */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	perror("dsa: standard output");
	return 3;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (strcmp(argv[1], "--help") == 0) {
		usage(stdout);
		return finish(0);
	}
	for (size_t i = 0; i < COUNT; i++) {
		char title[32]; /* what argp calls us in messages */

		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		snprintf(title, sizeof(title), "dsa %s", commands[i].name);
		argv[1] = title;
		return finish(commands[i].run(argc - 1, argv + 1));
	}
	fprintf(stderr, "dsa: no command is called '%s'; see dsa --help\n", argv[1]);
	return 2;
}
