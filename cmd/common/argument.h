/* argument.h - option values that several commands take; bad ones end as bad usage. */
#ifndef DSA_ARGUMENT_H
#define DSA_ARGUMENT_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* How the value of an option is read, and the type of the member that holds it. */
enum argument_kind {
	ARGUMENT_FLAG,  /* bool: the option has no value */
	ARGUMENT_TEXT,  /* const char * */
	ARGUMENT_TIME,  /* double, seconds: argument_time() */
	ARGUMENT_COUNT, /* unsigned: least to most */
	ARGUMENT_WHOLE, /* uint64_t */
	ARGUMENT_WORD,  /* int, or an enum: the place of the word in "a|b|c" */
	ARGUMENT_NAME,  /* const char *: one of these words */
};

/* An option, by its key, and the member of the command's struct that holds its value. */
struct argument {
	int key;
	enum argument_kind kind;
	size_t offset;
	unsigned least, most;
};

#define ARGUMENT(structure, key, kind, member)                                         \
	{                                                                              \
		key, ARGUMENT_##kind, offsetof(struct structure, member), 0, 0         \
	}
#define ARGUMENT_NUMBER(structure, key, member, least, most)                           \
	{                                                                              \
		key, ARGUMENT_COUNT, offsetof(struct structure, member), least, most   \
	}

/* True behind the last option. */
bool argument_end(const struct argp_option *option);

/* The option of that key, which is there. */
const struct argp_option *argument_find(const struct argp_option *options, int key);

/*
 * Reads an option that `table` lists (it ends with key 0) into state->input; names and
 * words are those of `options`. 0 or ARGP_ERR_UNKNOWN.
 */
error_t argument_take(const struct argp_option *options, const struct argument *table,
		      int key, char *arg, struct argp_state *state);

/* The place of arg in the words "a|b|c" that `options` give for that key. */
unsigned argument_word(const struct argp_option *options, int key, const char *arg,
		       struct argp_state *state);

/* A time above 0, up to a week, in seconds. */
void argument_time(struct argp_state *state, const char *name, const char *arg,
		   double *seconds);

/* --precision: "1", "0.5" and "1%" are points of a hundred; gives a share. */
void argument_precision(struct argp_state *state, const char *arg, double *share);

#endif
