/*
 * cmd.h - the subcommands of dsa.
 *
 * To add one: a line here, cmd/NAME.c with cmd_NAME(), man/dsa-NAME.1 and
 * tests/cli/NAME*.sh. Exit status: 0 done, 2 bad usage, 3 it could not be done.
 */
#ifndef DSA_CMD_H
#define DSA_CMD_H

struct error;

#define COMMANDS(X)

#define DECLARE(name, summary) int cmd_##name(int argc, char **argv);
COMMANDS(DECLARE)
#undef DECLARE

/* Prints the error for a person. Returns the exit status for "could not". */
int cmd_fail(const struct error *err);

#endif
