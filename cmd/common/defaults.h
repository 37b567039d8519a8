/*
 * defaults.h - options that nobody typed: from dsa.ini in this folder, then from the
 * environment (DSA_OPT_BUDGET=30s for --budget=30s), each of which what is typed overrides.
 *
 * In dsa.ini "name = value" is meant for every command that takes --name; below
 * [command] ("[run]", "[bench fetch]") only for that one, which must take it. Of an
 * option without a value, yes gives it and no does not. A section of no command is refused.
 * A command's own options (see cmd.h) come from its section alone.
 */
#ifndef DSA_DEFAULTS_H
#define DSA_DEFAULTS_H

#include "cmd/common/argument.h"

struct command;
struct error;

enum { DEFAULTS = 256 }; /* options added, at most */

/* A command line with them in it. Begins with `root` alone. */
struct defaults {
	const struct command *root; /* dsa: sections are called as commands below it */
	const struct command *command;
	const char *name; /* of the command: "run", "bench fetch" */
	int argc;
	char **argv;           /* argp may change the order of its words */
	char *added[DEFAULTS]; /* freed by defaults_fini() */
	char *from[DEFAULTS];  /* the same: "dsa.ini line 3", "DSA_OPT_BUDGET" */
	int count;
	struct argument_origins origins; /* of these; set until defaults_fini() */
};

/*
 * Puts such options after argv[0], "dsa COMMAND". 0; or -errno, -EINVAL and -EBADMSG for
 * bad usage. End with defaults_fini() in either case.
 */
int defaults_init(struct defaults *defaults, const struct command *command, int argc,
		  char **argv, struct error *err);
void defaults_fini(struct defaults *defaults);

#endif
