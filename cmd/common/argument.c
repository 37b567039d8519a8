/* argument.c - reads the values of options. */
#include "cmd/common/argument.h"
#include "loader/base/choice.h"
#include "loader/base/number.h"

bool argument_end(const struct argp_option *o)
{
	return o->name == NULL && o->key == 0 && o->doc == NULL && o->group == 0;
}

const struct argp_option *argument_find(const struct argp_option *options, int key)
{
	while (options->key != key)
		options++;
	return options;
}

unsigned argument_word(const struct argp_option *options, int key, const char *arg,
		       struct argp_state *state)
{
	const struct argp_option *option = argument_find(options, key);
	int place = choice_find(option->arg, arg);
	char list[CHOICE_TEXT];

	if (place < 0)
		argp_error(state, "--%s is %s, not '%s'", option->name,
			   choice_list(option->arg, " or ", list), arg);
	return (unsigned)place;
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

static void argument_whole(struct argp_state *state, const char *name, const char *arg,
			   uint64_t *value)
{
	if (!number_whole(arg, UINT64_MAX, value))
		argp_error(state, "--%s is a whole number, not '%s'", name, arg);
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
	else if (table->kind == ARGUMENT_WHOLE)
		argument_whole(state, name, arg, member);
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
