/*
 * cmd.h - the commands of dsa.
 *
 * To add one: a line in COMMANDS below, cmd/NAME.c with command_NAME, man/dsa-NAME.1
 * and tests/cli/NAME*.sh. Help, completion and the test of the manual pages read
 * the same struct command. Exit status: 0 done, 2 bad usage, 3 it could not be done; a
 * command with others has them in its manual.
 */
#ifndef DSA_CMD_H
#define DSA_CMD_H

#include <stddef.h>

struct argp_state;
struct argument;
struct error;
struct json_t;

/* Either has commands below it, or takes options and runs. */
struct command {
	const char *name;
	const char *summary;
	const struct command *const *below; /* ends with NULL; or NULL */
	const struct argument *arguments;   /* see argument.h */
	/* Of these, options that mean something else here than in other commands: a setting
	 * for all commands does not reach them; or NULL. */
	const struct argument *own;
	/* Of the parts' options those with these numbers, bits 1 << key, have no effect
	 * here: help and completion leave them out, and they are refused. */
	unsigned unfit;
	/* What can't go together, when all is read; or NULL. */
	void (*check)(struct argp_state *state, void *into);
	const char *doc;
	/* argv[0] is "dsa NAME"; returns the status. */
	int (*run)(const struct command *self, int argc, char **argv);
};

/* clang-format off */
#define COMMANDS(X) \
	X(bench) \
	X(compare) \
	X(completion) \
	X(dataset) \
	X(doctor) \
	X(gate) \
	X(report) \
	X(run) \
	X(serve) \
	X(whatif)
/* clang-format on */

#define DECLARE(name) extern const struct command command_##name;
COMMANDS(DECLARE)
#undef DECLARE

/* dsa itself: every command is below it. */
extern const struct command command_dsa;

/* Prints the error for a person. Returns the exit status for "could not". */
int cmd_fail(const struct error *err);

/* The same for what may be bad usage (EINVAL): then the status is 2. */
int cmd_refuse(const struct error *err);

/* Prints "dsa: WHAT: MESSAGE" on standard error. */
void cmd_warn(const char *what, const char *message);

/* Prints a JSON object, real numbers with so many digits, and frees it; NULL: there was
 * no memory for it. Returns the exit status. */
int cmd_print_json(struct json_t *object, size_t digits);

#endif
