#include "cmd/common/argument.h"
#include "loader/base/number.h"

#include <string.h>

static const struct argp_option *argument_find(const struct argp_option *options,
					       int key)
{
	while (options->key != key)
		options++;
	return options;
}

/* "a|b|c" as "a, b or c". */
static void argument_list(const char *words, char *list, size_t size)
{
	*list = '\0';
	for (const char *at = words; *at != '\0' && strlen(list) + 5 < size; at++)
		if (*at != '|')
			strncat(list, at, 1);
		else
			strcat(list, strchr(at + 1, '|') != NULL ? ", " : " or ");
}

unsigned argument_word(const struct argp_option *options, int key, const char *arg,
		       struct argp_state *state)
{
	const struct argp_option *option = argument_find(options, key);
	const char *word = option->arg;
	char list[64];

	for (unsigned place = 0;; place++) {
		size_t length = strcspn(word, "|");

		if (strlen(arg) == length && memcmp(word, arg, length) == 0)
			return place;
		if (word[length] == '\0')
			break;
		word += length + 1;
	}
	argument_list(option->arg, list, sizeof(list));
	argp_error(state, "--%s is %s, not '%s'", option->name, list, arg);
	return 0;
}

static void argument_count(const struct argument *argument, const char *name,
			   const char *arg, struct argp_state *state, unsigned *count)
{
	uint64_t value;

	if (!number_whole(arg, argument->most, &value) || value < argument->least)
		argp_error(state, "--%s is %u to %u, not '%s'", name, argument->least,
			   argument->most, arg);
	else
		*count = (unsigned)value;
}

error_t argument_take(const struct argp_option *options, const struct argument *table,
		      int key, char *arg, struct argp_state *state)
{
	const char *name;
	void *member;

	while (table->key != 0 && table->key != key)
		table++;
	if (table->key == 0)
		return ARGP_ERR_UNKNOWN;
	member = (char *)state->input + table->offset;
	name = argument_find(options, key)->name;
	if (table->kind == ARGUMENT_FLAG)
		*(bool *)member = true;
	else if (table->kind == ARGUMENT_TIME)
		argument_time(state, name, arg, member);
	else if (table->kind == ARGUMENT_COUNT)
		argument_count(table, name, arg, state, member);
	else if (table->kind == ARGUMENT_WORD)
		*(unsigned *)member = argument_word(options, key, arg, state);
	else
		*(const char **)member = arg;
	if (table->kind == ARGUMENT_NAME)
		argument_word(options, key, arg, state);
	return 0;
}

void argument_time(struct argp_state *state, const char *name, const char *arg,
		   double *seconds)
{
	if (!number_time(arg, seconds) || *seconds <= 0 || *seconds > 7 * 86400)
		argp_error(state, "--%s is a time such as 30s, not '%s'", name, arg);
}

void argument_precision(struct argp_state *state, const char *arg, double *share)
{
	double value;

	if (number_percent(arg, &value))
		*share = value;
	else if (number_real(arg, &value))
		*share = value / 100;
	else
		*share = 0;
	if (*share < .0005 || *share > .5)
		argp_error(state, "--precision is 0.05 to 50 points, not '%s'", arg);
}
