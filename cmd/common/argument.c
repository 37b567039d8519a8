/* argument.c - reads a command line as a table of arguments says. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "loader/base/choice.h"
#include "loader/base/number.h"
#include "loader/base/text/near.h"
#include "reports/common/escape.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	ROWS = 64,  /* options and headings of a command, at most */
	KEYS = 256, /* of options without a letter: from here on */
};

/* A command line while it is read. */
struct reading {
	const struct command *command;
	char *into;
	struct argp_option options[ROWS + 1];
	struct argument_row {
		const struct argument *argument;
		struct argument_walk at;
	} rows[ROWS];
	size_t count;
	const struct argument *current;
	const char *origin; /* of the option that is read; NULL: typed */
};

static const struct argument_origins *argument_origins;

/* ---- tables ---- */

static bool argument_is_unfit(const struct argument *row,
			      const struct argument_walk *at, unsigned unfit)
{
	return at->part != NULL && row->name != NULL && row->key < ' ' &&
	       (unfit >> row->key & 1) != 0;
}

const struct argument *argument_next(struct argument_walk *walk)
{
	const struct argument *row = walk->next;

	if (row == NULL || row->kind == ARGUMENT_END)
		return NULL;
	walk->next++;
	if (argument_is_unfit(row, walk, walk->unfit))
		return argument_next(walk);
	if (row->kind != ARGUMENT_PART)
		return row;
	walk->part = row;
	walk->base += row->offset;
	walk->next = row->part;
	return argument_next(walk);
}

const struct argument *argument_find(struct argument_walk walk, const char *name)
{
	const struct argument *row;

	while ((row = argument_next(&walk)) != NULL)
		if (row->name != NULL && strcmp(row->name, name) == 0)
			break;
	return row;
}

const struct argument *argument_words(const struct argument *table)
{
	struct argument_walk walk = {.next = table};
	const struct argument *row;

	while ((row = argument_next(&walk)) != NULL)
		if (row->kind >= ARGUMENT_ONE)
			break;
	return row;
}

/* ---- errors ---- */

void argument_set_origins(const struct argument_origins *origins)
{
	argument_origins = origins;
}

static const char *argument_origin(const char *word)
{
	const struct argument_origins *all = argument_origins;

	for (int i = 0; all != NULL && i < all->count; i++)
		if (all->words[i] == word)
			return all->from[i];
	return NULL;
}

void argument_error(const struct argp_state *state, const char *format, ...)
{
	const char *origin = ((const struct reading *)state->input)->origin;
	char text[1024] = "", clean[1024];
	size_t used;
	va_list args;

	if (origin != NULL)
		snprintf(text, sizeof(text), "%.200s: ", origin);
	used = strlen(text);
	va_start(args, format);
	vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	argp_error(state, "%s", escape_to(clean, sizeof(clean), text));
}

void argument_set_json(struct argp_state *state, void *format, const char *none)
{
	(void)state;
	(void)none;
	*(const char **)format = "json";
}

/* ---- values ---- */

const struct argument *argument_current(const struct argp_state *state)
{
	return ((const struct reading *)state->input)->current;
}

bool argument_is_typed(const struct argp_state *state)
{
	return ((const struct reading *)state->input)->origin == NULL;
}

unsigned argument_word(struct argp_state *state, const char *value)
{
	const struct argument *argument = argument_current(state);
	int place = choice_find(argument->arg, value);
	char list[CHOICE_TEXT];

	if (place < 0)
		argument_error(state, "--%s is %s, not '%s'", argument->name,
			       choice_list(argument->arg, " or ", list), value);
	return (unsigned)place;
}

void argument_time(struct argp_state *state, const char *value, double *seconds)
{
	const struct argument *argument = argument_current(state);

	if (!number_time(value, seconds) || *seconds <= 0 || *seconds > 7 * 86400)
		argument_error(state, "--%s is a time such as 30s, not '%s'",
			       argument->name, value);
}

static void argument_points(struct argp_state *state, const char *value, double *share)
{
	const struct argument *argument = argument_current(state);

	if (!number_percent(value, share))
		*share = number_real(value, share) ? *share / 100 : 0;
	if (*share < .0005 || *share > .5)
		argument_error(state, "--%s is 0.05 to 50 points, not '%s'",
			       argument->name, value);
}

static void argument_count(struct argp_state *state, const char *value, unsigned *count)
{
	const struct argument *argument = argument_current(state);
	uint64_t whole;

	if (!number_whole(value, argument->most, &whole) || whole < argument->least)
		argument_error(state, "--%s is %u to %u, not '%s'", argument->name,
			       (unsigned)argument->least, (unsigned)argument->most,
			       value);
	else
		*count = (unsigned)whole;
}

static void argument_whole(struct argp_state *state, const char *value, uint64_t *whole)
{
	const struct argument *argument = argument_current(state);
	uint64_t most = argument->most > 0 ? argument->most
					   : INT64_MAX; /* as results can have it */

	if (number_whole(value, most, whole) && *whole >= argument->least)
		return;
	if (argument->least > 0)
		argument_error(state, "--%s is a number from %u, not '%s'",
			       argument->name, (unsigned)argument->least, value);
	else
		argument_error(state, "--%s is a whole number below 2^63, not '%s'",
			       argument->name, value);
}

static void argument_store(struct argp_state *state, void *member, const char *value)
{
	const struct argument *argument = argument_current(state);

	if (argument->set != NULL)
		argument->set(state, member, value);
	else if (argument->kind == ARGUMENT_FLAG)
		*(bool *)member = true;
	else if (argument->kind == ARGUMENT_TIME)
		argument_time(state, value, member);
	else if (argument->kind == ARGUMENT_POINTS)
		argument_points(state, value, member);
	else if (argument->kind == ARGUMENT_COUNT)
		argument_count(state, value, member);
	else if (argument->kind == ARGUMENT_WHOLE)
		argument_whole(state, value, member);
	else if (argument->kind == ARGUMENT_WORD)
		*(unsigned *)member = argument_word(state, value);
	else
		*(const char **)member = value;
	if (argument->kind == ARGUMENT_TEXT && *value == '\0' &&
	    choice_find("DIR|FILE", argument->arg) >= 0)
		argument_error(state, "--%s is empty", argument->name);
	if (argument->kind == ARGUMENT_NAME)
		argument_word(state, value);
}

/* ---- words that are no options ---- */

/* The option that getopt takes --NAME or --NAME=VALUE for, where NAME may be cut short;
 * or -K. NULL: none. */
static const struct argument *argument_meant(const struct reading *reading,
					     const char *word)
{
	bool letter = word[1] != '-';
	size_t length = letter ? 0 : strcspn(word + 2, "=");
	const struct argument *found = NULL;

	for (size_t i = 0; i < reading->count; i++) {
		const struct argument *argument = reading->rows[i].argument;
		const char *name = argument->name;

		if (name == NULL || (letter ? argument->key != word[1]
					    : strncmp(name, word + 2, length) != 0))
			continue;
		found = argument;
		if (letter || name[length] == '\0')
			break;
	}
	return found;
}

/* Options of argp's own. */
static bool argument_is_common(const char *word)
{
	return strncmp("--help", word, strlen(word)) == 0 ||
	       strncmp("--usage", word, strlen(word)) == 0;
}

static void argument_refuse(const struct argp_state *state,
			    const struct reading *reading, const char *word)
{
	const char *best = NULL;
	unsigned least = NEAR_FAR;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (size_t i = 0; i < reading->count; i++) {
		const char *other = reading->rows[i].argument->name;
		unsigned slips = other != NULL ? near_slips(name, other) : NEAR_FAR;

		if (slips < least) {
			least = slips;
			best = other;
		}
	}
	if (best != NULL)
		argument_error(state, "there is no option --%s; did you mean --%s?",
			       name, best);
	else
		argument_error(state, "there is no option --%s", name);
}

/* Looks at the command's own words before argp does: a wrong one is answered, and -h is
 * --help. */
static void argument_look(struct argp_state *state, const struct reading *reading,
			  bool rest)
{
	static char help[] = "--help";

	state->name = state->argv[0]; /* for errors; argp sets it later */
	for (int i = 1; i < state->argc; i++) {
		const char *word = state->argv[i];
		const struct argument *meant;

		if (strcmp(word, "--") == 0 || (rest && word[0] != '-'))
			return;
		if (strcmp(word, "-h") == 0)
			state->argv[i] = help;
		if (word[0] != '-' || word[1] == '\0')
			continue;
		meant = argument_meant(reading, word);
		if (meant == NULL && word[1] == '-' && !argument_is_common(word))
			argument_refuse(state, reading, word);
		i += meant != NULL && meant->arg != NULL &&
		     meant->kind != ARGUMENT_MAYBE && strchr(word, '=') == NULL &&
		     (word[1] == '-' || word[2] == '\0');
	}
}

/* ---- argp ---- */

static void argument_refuse_word(struct argp_state *state,
				 const struct reading *reading, const char *value)
{
	const struct argument_walk walk = {.next = reading->command->arguments,
					   .unfit = reading->command->unfit};

	argument_error(state, "'%s' is one word too many%s", value,
		       argument_find(walk, "dataset") != NULL
			       ? ": a data set is named by --dataset"
			       : "");
}

static void argument_take_word(struct argp_state *state, const struct reading *reading,
			       const char *value)
{
	const struct argument *words = reading->current;
	void *member = reading->into + words->offset;

	if (words->kind == ARGUMENT_ONE && state->arg_num > 0)
		argument_error(state, "one %s at a time", words->arg);
	if (words->kind == ARGUMENT_REST) {
		*(char *const **)member = &state->argv[state->next - 1];
		state->next = state->argc;
	} else {
		argument_store(state, member, value);
	}
}

/* What is no option: 0 or ARGP_ERR_UNKNOWN. */
static error_t argument_take_other(struct argp_state *state, struct reading *reading,
				   int key, const char *value)
{
	const struct argument *words = argument_words(reading->command->arguments);

	reading->current = words;
	if (key == ARGP_KEY_INIT)
		argument_look(state, reading,
			      words != NULL && words->kind == ARGUMENT_REST);
	else if (key == ARGP_KEY_ARG && words != NULL)
		argument_take_word(state, reading, value);
	else if (key == ARGP_KEY_ARG)
		argument_refuse_word(state, reading, value);
	else if (key == ARGP_KEY_NO_ARGS && words != NULL && words->doc != NULL)
		argument_error(state, "%s", words->doc);
	else if (key == ARGP_KEY_END && reading->command->check != NULL)
		reading->command->check(state, reading->into);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static error_t argument_parse(int key, char *value, struct argp_state *state)
{
	struct reading *reading = state->input;
	const struct argument_row *row = reading->rows;
	char *part;

	for (; row < reading->rows + reading->count; row++)
		if (row->argument->name != NULL &&
		    reading->options[row - reading->rows].key == key)
			break;
	if (row == reading->rows + reading->count)
		return argument_take_other(state, reading, key, value);
	part = reading->into + row->at.base;
	reading->current = row->argument;
	reading->origin = argument_origin(state->argv[state->next - 1]);
	if (argument_is_unfit(row->argument, &row->at, reading->command->unfit))
		argument_error(state, "--%s has no effect here", row->argument->name);
	argument_store(state, part + row->argument->offset, value);
	if (row->at.part != NULL && row->at.part->set != NULL)
		row->at.part->set(state, part, value);
	reading->origin = NULL;
	return 0;
}

/* Rows without a name but headings are words: args_doc of argp has them. */
static void argument_list(struct reading *reading)
{
	struct argument_walk walk = {.next = reading->command->arguments};
	const struct argument *row;

	while ((row = argument_next(&walk)) != NULL) {
		bool heading = row->kind == ARGUMENT_GROUP;
		bool unfit = argument_is_unfit(row, &walk, reading->command->unfit);
		int key = isalpha(row->key) ? row->key : KEYS + (int)reading->count;

		if (row->name == NULL && !heading)
			continue;
		assert(reading->count < ROWS);
		reading->options[reading->count] = (struct argp_option){
			row->name,
			heading ? 0 : key,
			row->arg,
			(row->kind == ARGUMENT_MAYBE ? OPTION_ARG_OPTIONAL : 0) |
				(unfit ? OPTION_HIDDEN : 0),
			row->doc,
			heading ? (int)row->least : 0,
		};
		reading->rows[reading->count++] = (struct argument_row){row, walk};
	}
}

void argument_read(const struct command *command, int argc, char **argv, void *into)
{
	struct reading reading = {.command = command, .into = into};
	const struct argument *words = argument_words(command->arguments);
	bool rest = words != NULL && words->kind == ARGUMENT_REST;
	struct argp argp = {
		.parser = argument_parse,
		.args_doc = words != NULL ? words->arg : NULL,
		.doc = command->doc,
	};

	argument_list(&reading);
	if (reading.count > 0) /* for --help, argp leaks an empty list */
		argp.options = reading.options;
	argp_parse(&argp, argc, argv, rest ? ARGP_IN_ORDER : 0, NULL, &reading);
}
