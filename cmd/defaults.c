#include "cmd/defaults.h"
#include "loader/base/error.h"
#include "loader/base/ini.h"

#include <argp.h>
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

enum { FILE_MAX = 1 << 16, WORDS = 256 };

/* Options found so far. */
struct words {
	const struct argp *argp;
	char **word;
	int count;
};

/* The option --name of a command, or NULL. */
static const struct argp_option *option_of(const struct argp *argp, const char *name)
{
	const struct argp_option *option = argp->options;
	const struct argp_child *child = argp->children;
	const struct argp_option *found = NULL;

	for (; option != NULL && (option->name != NULL || option->key != 0 ||
				  option->doc != NULL || option->group != 0);
	     option++)
		if (option->name != NULL && strcmp(option->name, name) == 0)
			return option;
	for (; child != NULL && child->argp != NULL && found == NULL; child++)
		found = option_of(child->argp, name);
	return found;
}

static int add_flag(struct words *words, const char *name, const char *value,
		    struct error *err)
{
	if (strcasecmp(value, "no") == 0)
		return 0;
	if (strcasecmp(value, "yes") != 0)
		return error_set(err, EINVAL, "%s is yes or no, not '%s'", name, value);
	return asprintf(&words->word[words->count++], "--%s", name);
}

/* 0 or more when it is done; -ENOENT: the command has no such option. */
static int add(struct words *words, const char *name, const char *value,
	       struct error *err)
{
	const struct argp_option *option = option_of(words->argp, name);

	if (option == NULL)
		return -ENOENT;
	if (words->count == WORDS)
		return error_set(err, EINVAL, "more than %d options", WORDS);
	if (option->arg == NULL)
		return add_flag(words, name, value, err);
	return asprintf(&words->word[words->count++], "--%s=%s", name, value);
}

/* One line of the file, for this command or not. */
static int add_setting(struct words *words, const struct ini *ini, const char *command,
		       const char *name, const char *value, struct error *err)
{
	bool mine = strcmp(ini->section, command) == 0;
	int result;

	if (!mine && ini->section[0] != '\0')
		return 0;
	result = add(words, name, value, err);
	if (result == -ENOENT && mine)
		return error_set(err, EINVAL,
				 FILE_NAME " line %u: dsa %s has no option '%s'",
				 ini->line, command, name);
	if (result < 0 && result != -ENOENT)
		return error_within(err, result, FILE_NAME " line %u", ini->line);
	return 0;
}

static int add_lines(struct words *words, char *text, const char *command,
		     struct error *err)
{
	struct ini ini = {.at = text};
	const char *name, *value;
	int result;

	while ((result = ini_next(&ini, &name, &value, err)) > 0) {
		result = add_setting(words, &ini, command, name, value, err);
		if (result < 0)
			return result;
	}
	if (result < 0)
		error_within(err, result, FILE_NAME);
	return result;
}

/* dsa.ini; none is no error. */
static int add_file(struct words *words, const char *command, struct error *err)
{
	char *text = NULL;
	FILE *file = fopen(FILE_NAME, "re");
	size_t length;
	int result = 0;

	if (file == NULL)
		return errno == ENOENT ? 0 : error_sys(err, errno, FILE_NAME);
	text = malloc(FILE_MAX + 1);
	if (text == NULL) {
		result = error_sys(err, ENOMEM, FILE_NAME);
		goto out;
	}
	length = fread(text, 1, FILE_MAX + 1, file);
	if (ferror(file)) {
		result = error_sys(err, errno, FILE_NAME);
		goto out;
	}
	if (length > FILE_MAX) {
		result = error_set(err, EINVAL, FILE_NAME " is longer than %d bytes",
				   FILE_MAX);
		goto out;
	}
	text[length] = '\0';
	result = add_lines(words, text, command, err);
out:
	free(text);
	fclose(file);
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
static int add_environment(struct words *words, struct error *err)
{
	for (char **variable = environ; *variable != NULL; variable++) {
		char name[64];
		int result;

		if (!option_name(*variable, name, sizeof(name)))
			continue;
		result = add(words, name, strchr(*variable, '=') + 1, err);
		if (result < 0 && result != -ENOENT)
			return error_within(err, result, "DSA_OPT_ variable");
	}
	return 0;
}

char **defaults_add(const struct argp *argp, int *argc, char **argv, struct error *err)
{
	char **all = calloc((size_t)*argc + WORDS + 1, sizeof(*all));
	struct words words = {.argp = argp};

	if (all == NULL) {
		error_sys(err, ENOMEM, "reading options");
		return NULL;
	}
	words.word = all + 1;
	if (add_file(&words, argv[0] + strlen("dsa "), err) < 0 ||
	    add_environment(&words, err) < 0) {
		free(all);
		return NULL;
	}
	all[0] = argv[0];
	memcpy(&all[1 + words.count], &argv[1], (size_t)(*argc - 1) * sizeof(*all));
	*argc += words.count;
	return all;
}
