/* defaults.c - options that nobody typed: dsa.ini and DSA_OPT_ variables. */
#include "cmd/common/defaults.h"
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

/* 0 when it is done; -ENOENT: the command has no such option. */
static int defaults_add(struct defaults *defaults, const char *from, const char *name,
			const char *value, struct error *err)
{
	const struct argument_walk walk = {.next = defaults->command->arguments,
					   .unfit = defaults->command->unfit};
	const struct argument *option = argument_find(walk, name);
	bool flag = option != NULL && option->arg == NULL;

	if (option == NULL)
		return -ENOENT;
	if (flag && strcasecmp(value, "no") == 0)
		return 0;
	if (flag && strcasecmp(value, "yes") != 0)
		return error_set(err, EINVAL, "%s: %s is yes or no, not '%s'", from,
				 name, value);
	if (defaults->count == DEFAULTS)
		return error_set(err, EINVAL, "%s: more than %d options", from,
				 DEFAULTS);
	defaults->from[defaults->count] = strdup(from);
	if (asprintf(&defaults->added[defaults->count], "--%s%s%s", name,
		     flag ? "" : "=", flag ? "" : value) < 0)
		defaults->added[defaults->count] = NULL;
	defaults->count++;
	return defaults->from[defaults->count - 1] != NULL &&
			       defaults->added[defaults->count - 1] != NULL
		       ? 0
		       : error_sys(err, ENOMEM, "reading options");
}

/* True of "run" and of "bench fetch", as they are named below dsa. */
static bool defaults_is_command(const struct command *command, const char *name)
{
	for (size_t i = 0; command->below != NULL && command->below[i] != NULL; i++) {
		const struct command *below = command->below[i];
		size_t length = strlen(below->name);

		if (strncmp(name, below->name, length) != 0)
			continue;
		if (name[length] == '\0')
			return below->run != NULL;
		if (name[length] == ' ')
			return defaults_is_command(below, name + length + 1);
	}
	return false;
}

/* An option of every command that has it, or of this one alone: see struct command. */
static bool is_shared(const struct defaults *defaults, const char *name)
{
	const struct argument_walk own = {.next = defaults->command->own};

	return argument_find(own, name) == NULL;
}

/* One line of the file, for this command or not. */
static int add_setting(struct defaults *defaults, const struct ini *ini,
		       const char *name, const char *value, struct error *err)
{
	bool mine = strcmp(ini->section, defaults->name) == 0;
	char from[32];
	int result;

	snprintf(from, sizeof(from), FILE_NAME " line %u", ini->line);
	if (ini->section[0] != '\0' &&
	    !defaults_is_command(defaults->root, ini->section))
		return error_set(err, EINVAL,
				 "%s: no command is called '%.60s': a section is "
				 "called as one, such as [bench fetch]",
				 from, ini->section);
	if (!mine && (ini->section[0] != '\0' || !is_shared(defaults, name)))
		return 0;
	result = defaults_add(defaults, from, name, value, err);
	if (result == -ENOENT && mine)
		return error_set(err, EINVAL, "%s: dsa %s has no option '%s'", from,
				 defaults->name, name);
	return result == -ENOENT ? 0 : result;
}

static int add_lines(struct defaults *defaults, char *text, struct error *err)
{
	struct ini ini = {.at = text};
	const char *name, *value;
	int result;

	while ((result = ini_next(&ini, &name, &value, err)) > 0) {
		result = add_setting(defaults, &ini, name, value, err);
		if (result < 0)
			return result;
	}
	if (result < 0)
		error_within(err, result, FILE_NAME);
	return result;
}

/* dsa.ini; none is no error. */
static int defaults_add_file(struct defaults *defaults, struct error *err)
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
	result = add_lines(defaults, text, err);
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
static int add_environment(struct defaults *defaults, struct error *err)
{
	for (char **variable = environ; *variable != NULL; variable++) {
		char name[64], from[96];
		int result;

		if (!option_name(*variable, name, sizeof(name)) ||
		    !is_shared(defaults, name))
			continue;
		snprintf(from, sizeof(from), "%.*s", (int)strcspn(*variable, "="),
			 *variable);
		result = defaults_add(defaults, from, name, strchr(*variable, '=') + 1,
				      err);
		if (result < 0 && result != -ENOENT)
			return result;
	}
	return 0;
}

int defaults_init(struct defaults *defaults, const struct command *command, int argc,
		  char **argv, struct error *err)
{
	int result;

	*defaults = (struct defaults){
		.root = defaults->root,
		.command = command,
		.name = argv[0] + strlen("dsa "),
		.argv = calloc((size_t)argc + DEFAULTS + 1, sizeof(char *)),
	};
	if (defaults->argv == NULL)
		return error_sys(err, ENOMEM, "reading options");
	result = defaults_add_file(defaults, err);
	if (result == 0)
		result = add_environment(defaults, err);
	if (result < 0)
		return result;
	defaults->origins = (struct argument_origins){defaults->added, defaults->from,
						      defaults->count};
	argument_set_origins(&defaults->origins);
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
	argument_set_origins(NULL);
	for (int i = 0; i < defaults->count; i++) {
		free(defaults->added[i]);
		free(defaults->from[i]);
	}
	free(defaults->argv);
}
