/*
 * defaults.h - options that nobody typed: from dsa.ini in this folder, then from the
 * environment (DSA_OPT_BUDGET=30s for --budget=30s), each of which what is typed overrides.
 *
 * In dsa.ini "name = value" is meant for every command that takes --name; below
 * [command] ("[run]", "[bench fetch]") only for that one, which must take it. Of an
 * option without a value, yes gives it and no does not.
 */
#ifndef DSA_DEFAULTS_H
#define DSA_DEFAULTS_H

struct argp;
struct error;

/*
 * Puts such options after argv[0], "dsa COMMAND". Returns a new argv for *argc words that
 * lives as long as the process; NULL and err (-EINVAL in err->code: bad usage) on failure.
 */
char **defaults_add(const struct argp *argp, int *argc, char **argv, struct error *err);

#endif
