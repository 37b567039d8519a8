/*
 * argument.h - what a command takes: one table for --help, completion and reading.
 *
 *	#define TO(kind, member) ARGUMENT(gate_options, kind, member)
 *	static const struct argument arguments[] = {
 *		ARGUMENT_HEADING(1, "The measurement:"),
 *		{"repetition", 0, "TIME", TO(TIME, seconds), "Length of each"},
 *		{"quiet", 'q', NULL, TO(FLAG, quiet), "Print nothing but errors"},
 *		{NULL, 0, "RUN", TO(ONE, run), "which RUN?"},
 *		{0},
 *	};
 */
#ifndef DSA_ARGUMENT_H
#define DSA_ARGUMENT_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;

/* How the value of an option is read, and the type of the member that holds it. */
enum argument_kind {
	ARGUMENT_END,
	ARGUMENT_FLAG,   /* bool: the option has no value */
	ARGUMENT_TEXT,   /* const char * */
	ARGUMENT_TIME,   /* double: argument_time() */
	ARGUMENT_POINTS, /* double: a share; "1", "0.5" and "1%" are points of 100 */
	ARGUMENT_COUNT,  /* unsigned: least to most */
	ARGUMENT_WHOLE,  /* uint64_t: least to most, if that is not 0 */
	ARGUMENT_WORD,  /* unsigned, int or an enum: the place of the word in "a|b|c" */
	ARGUMENT_NAME,  /* const char *: one of these words */
	ARGUMENT_CALL,  /* any, by `set` */
	ARGUMENT_MAYBE, /* any, by `set`: the option may lack its value (NULL) */

	/* Rows without a name. Words (ONE, REST, EACH) stand in the command's own table. */
	ARGUMENT_GROUP, /* a heading of --help; least is its place */
	/* A struct with a table of its own, which ends this one. After each of its options
	 * `set`, if there is one, is called with the struct. */
	ARGUMENT_PART,
	ARGUMENT_ONE,  /* const char *: the one word that is no option */
	ARGUMENT_REST, /* char *const *: from the first word on all that follow */
	ARGUMENT_EACH, /* any, by `set`: each word that is no option */
};

/* Stores a value of argument_current(); a bad one ends as bad usage. */
typedef void argument_set(struct argp_state *state, void *member, const char *value);

/* An option, by name and letter, or another row. The last one is {0}, or a part. */
struct argument {
	const char *name;
	int key;         /* letter; or below ' ': a number for `set` of a part */
	const char *arg; /* value, or words that are no option; "a|b|c": one of them */
	enum argument_kind kind;
	size_t offset; /* of the member */
	uint64_t least, most;
	argument_set *set;
	const struct argument *part;
	const char *doc; /* of words: the question where there are none; or NULL */
};

#define ARGUMENT(structure, kind, member)                                              \
	ARGUMENT_##kind, offsetof(struct structure, member), 0, 0, NULL, NULL
#define ARGUMENT_NUMBER(structure, member, least, most)                                \
	ARGUMENT_COUNT, offsetof(struct structure, member), least, most, NULL, NULL
#define ARGUMENT_WHOLE_OF(structure, member, least, most)                              \
	ARGUMENT_WHOLE, offsetof(struct structure, member), least, most, NULL, NULL
#define ARGUMENT_BY(structure, member, set)                                            \
	ARGUMENT_CALL, offsetof(struct structure, member), 0, 0, set, NULL
/* `set` gets the whole struct. */
#define ARGUMENT_ALL_BY(kind, set) ARGUMENT_##kind, 0, 0, 0, set, NULL
#define ARGUMENT_HEADING(place, doc)                                                   \
	{                                                                              \
		NULL, 0, NULL, ARGUMENT_GROUP, 0, place, 0, NULL, NULL, doc            \
	}
#define ARGUMENT_TABLE(offset, set, table)                                             \
	{                                                                              \
		NULL, 0, NULL, ARGUMENT_PART, offset, 0, 0, set, table, NULL           \
	}

/* Goes through a table and its parts: to begin, set `next` to the table, the rest to 0, but
 * for `unfit`, by which options are left out as struct command says. */
struct argument_walk {
	const struct argument *next;
	const struct argument *part; /* row of the part that it is in; NULL: none */
	size_t base;                 /* offset of that part */
	unsigned unfit;
};

/* The next row that is no part; NULL at the end, or when there is no table. */
const struct argument *argument_next(struct argument_walk *walk);

/* The option --name that the walk comes by, or NULL. */
const struct argument *argument_find(struct argument_walk walk, const char *name);

/* The row of words that are no options, or NULL. */
const struct argument *argument_words(const struct argument *table);

/* Words of a command line that nobody typed, and where each is from: an error about such an
 * option begins with that. Lasts until other ones are set, or none (NULL). */
struct argument_origins {
	char *const *words, *const *from;
	int count;
};
void argument_set_origins(const struct argument_origins *origins);

/* Reads a command line into the command's struct. */
void argument_read(const struct command *command, int argc, char **argv, void *into);

/* For argument_set: what is read; whether somebody typed it; the place of its value in
 * "a|b|c"; a time above 0, up to a week, in seconds. */
const struct argument *argument_current(const struct argp_state *state);
bool argument_is_typed(const struct argp_state *state);

/* Ends as bad usage with one line; of what it repeats nothing acts on a terminal. */
void argument_error(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* --json of a command with --format, of which `format` is the member: the last one of them
 * counts. */
void argument_set_json(struct argp_state *state, void *format, const char *none);

unsigned argument_word(struct argp_state *state, const char *value);
void argument_time(struct argp_state *state, const char *value, double *seconds);

#endif
