/* ini.c - cuts a text into settings. */
#include "loader/base/text/ini.h"
#include "loader/base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char space[] = " \t\r\f\v";

/* Cuts blanks off both ends. */
static char *ini_trim(char *text)
{
	size_t length;

	text += strspn(text, space);
	length = strlen(text);
	while (length > 0 && strchr(space, text[length - 1]) != NULL)
		length--;
	text[length] = '\0';
	return text;
}

static char *next_line(struct ini *ini)
{
	char *line = strsep(&ini->at, "\n");

	ini->line++;
	return ini_trim(line);
}

/* [section]: remembers it. */
static bool take_section(struct ini *ini, char *line)
{
	size_t length = strlen(line);

	if (line[0] != '[' || length < 3 || line[length - 1] != ']')
		return false;
	line[length - 1] = '\0';
	ini->section = ini_trim(line + 1);
	return true;
}

/* name = value */
static bool take_setting(char *line, const char **name, const char **value)
{
	char *equals = strchr(line, '=');

	if (equals == NULL)
		return false;
	*equals = '\0';
	*name = ini_trim(line);
	*value = ini_trim(equals + 1);
	return **name != '\0';
}

int ini_next(struct ini *ini, const char **name, const char **value, struct error *err)
{
	if (ini->section == NULL)
		ini->section = "";
	while (ini->at != NULL) {
		char *line = next_line(ini);

		if (line[0] == '\0' || line[0] == '#' || line[0] == ';' ||
		    take_section(ini, line))
			continue;
		if (line[0] != '[' && take_setting(line, name, value))
			return 1;
		return error_set(err, EBADMSG,
				 "line %u is neither [section] nor name = value",
				 ini->line);
	}
	return 0;
}
