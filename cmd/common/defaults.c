/* defaults.c - options that nobody typed: dsa.ini and DSA_OPT_ variables. */
#include "cmd/common/defaults.h"
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/textfile.h"
#include "loader/base/error.h"
#include "loader/base/text/ini.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define FILE_NAME   "dsa.ini"
#define ENVIRONMENT "DSA_OPT_"

enum { WORDS = 256 };

static int add_word(struct defaults *defaults, const char *name, const char *equals,
		    const char *value, struct error *err)
{
	if (defaults->count == WORDS)
		return error_set(err, EINVAL, "more than %d options", WORDS);
	if (asprintf(&defaults->added[defaults->count], "--%s%s%s", name, equals,
		     value) < 0)
		return error_sys(err, ENOMEM, "reading options");
	defaults->count++;
	return 0;
}

static int add_flag(struct defaults *defaults, const char *name, const char *value,
		    struct error *err)
{
	if (strcasecmp(value, "no") == 0)
		return 0;
	if (strcasecmp(value, "yes") != 0)
		return error_set(err, EINVAL, "%s is yes or no, not '%s'", name, value);
	return add_word(defaults, name, "", "", err);
}

/* Who asks: the command whose options count. */
struct asker {
	const struct command *command;
	const char *name; /* "run", "bench fetch" */
};

/* 0 or more when it is done; -ENOENT: the command has no such option. */
static int defaults_add(struct defaults *defaults, const struct asker *asker,
			const char *name, const char *value, struct error *err)
{
	const struct argument *option = argument_find(asker->command->arguments, name);

	if (option == NULL)
		return -ENOENT;
	if (option->arg == NULL)
		return add_flag(defaults, name, value, err);
	return add_word(defaults, name, "=", value, err);
}

/* An option of every command that has it, or of this one alone: see struct command. */
static bool is_shared(const struct asker *asker, const char *name)
{
	return argument_find(asker->command->own, name) == NULL;
}

/* One line of the file, for this command or not. */
static int add_setting(struct defaults *defaults, const struct asker *asker,
		       const struct ini *ini, const char *name, const char *value,
		       struct error *err)
{
	bool mine = strcmp(ini->section, asker->name) == 0;
	int result;

	if (!mine && (ini->section[0] != '\0' || !is_shared(asker, name)))
		return 0;
	result = defaults_add(defaults, asker, name, value, err);
	if (result == -ENOENT && mine)
		return error_set(err, EINVAL,
				 FILE_NAME " line %u: dsa %s has no option '%s'",
				 ini->line, asker->name, name);
	if (result < 0 && result != -ENOENT)
		return error_within(err, result, FILE_NAME " line %u", ini->line);
	return 0;
}

static int add_lines(struct defaults *defaults, const struct asker *asker, char *text,
		     struct error *err)
{
	struct ini ini = {.at = text};
	const char *name, *value;
	int result;

	while ((result = ini_next(&ini, &name, &value, err)) > 0) {
		result = add_setting(defaults, asker, &ini, name, value, err);
		if (result < 0)
			return result;
	}
	if (result < 0)
		error_within(err, result, FILE_NAME);
	return result;
}

/* dsa.ini; none is no error. */
static int defaults_add_file(struct defaults *defaults, const struct asker *asker,
			     struct error *err)
{
	struct error missing = *err;
	char *text;
	int result = textfile_read(FILE_NAME, &text, err);

	if (result == -ENOENT) {
		*err = missing;
		return 0;
	}
	if (result < 0)
		return result;
	result = add_lines(defaults, asker, text, err);
	free(text);
	return result;
}

/* "DSA_OPT_FETCH_DEPTH=8" gives "fetch-depth"; false when it is another variable. */
static bool option_name(const char *variable, char *name, size_t size)
{
	size_t length = strcspn(variable, "="), prefix = strlen(ENVIRONMENT);

	if (strncmp(variable, ENVIRONMENT, prefix) != 0 || variable[length] != '=' ||
	    length - prefix >= size)
		return false;
	for (size_t i = prefix; i < length; i++)
		name[i - prefix] = variable[i] == '_'
					   ? '-'
					   : (char)tolower((unsigned char)variable[i]);
	name[length - prefix] = '\0';
	return true;
}

/* What this command does not take is another's. */
static int add_environment(struct defaults *defaults, const struct asker *asker,
			   struct error *err)
{
	for (char **variable = environ; *variable != NULL; variable++) {
		char name[64];
		int result;

		if (!option_name(*variable, name, sizeof(name)) ||
		    !is_shared(asker, name))
			continue;
		result = defaults_add(defaults, asker, name, strchr(*variable, '=') + 1,
				      err);
		if (result < 0 && result != -ENOENT)
			return error_within(err, result, "DSA_OPT_ variable");
	}
	return 0;
}

int defaults_init(struct defaults *defaults, const struct command *command, int argc,
		  char **argv, struct error *err)
{
	const struct asker asker = {command, argv[0] + strlen("dsa ")};
	int result;

	*defaults = (struct defaults){
		.argv = calloc((size_t)argc + WORDS + 1, sizeof(char *)),
		.added = calloc(WORDS, sizeof(char *)),
	};
	if (defaults->argv == NULL || defaults->added == NULL)
		return error_sys(err, ENOMEM, "reading options");
	result = defaults_add_file(defaults, &asker, err);
	if (result == 0)
		result = add_environment(defaults, &asker, err);
	if (result < 0)
		return result;
	defaults->argc = argc + defaults->count;
	defaults->argv[0] = argv[0];
	memcpy(&defaults->argv[1], defaults->added,
	       (size_t)defaults->count * sizeof(char *));
	memcpy(&defaults->argv[1 + defaults->count], &argv[1],
	       (size_t)(argc - 1) * sizeof(char *));
	return 0;
}

void defaults_fini(struct defaults *defaults)
{
	for (int i = 0; i < defaults->count; i++)
		free(defaults->added[i]);
	free(defaults->added);
	free(defaults->argv);
}
