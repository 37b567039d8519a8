/* http_request.c - reads the head of a request in place. */
#include "tests/lib/http_request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static int http_hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c != 0 ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

/* In place. False: a % without two digits, or a byte 0. */
static bool http_decode(char *text)
{
	char *to = text;

	for (; *text != 0; text++) {
		*to = *text == '+' ? ' ' : *text;
		if (*text == '%') {
			int high = http_hex_digit(text[1]);
			int low = high < 0 ? -1 : http_hex_digit(text[2]);

			if (low < 0 || high + low == 0)
				return false;
			*to = (char)(high * 16 + low);
			text += 2;
		}
		to++;
	}
	*to = 0;
	return true;
}

char *http_encode(char *to, const char *text, const char *keep)
{
	for (; *text != 0; text++) {
		if (isalnum((unsigned char)*text) || strchr("-._~", *text) != NULL ||
		    strchr(keep, *text) != NULL)
			*to++ = *text;
		else
			to += sprintf(to, "%%%02X", (unsigned char)*text);
	}
	*to = 0;
	return to;
}

const char *http_field(const struct http_fields *fields, const char *name)
{
	for (unsigned i = 0; i < fields->count; i++)
		if (strcmp(fields->field[i].name, name) == 0)
			return fields->field[i].value;
	return NULL;
}

static bool http_add_field(struct http_fields *fields, const char *name,
			   const char *value)
{
	if (fields->count == HTTP_FIELDS)
		return false;
	fields->field[fields->count++] = (struct http_field){name, value};
	return true;
}

/* NULL when no line is left. */
static char *http_next_line(char **head)
{
	char *line = *head, *end = line != NULL ? strstr(line, "\r\n") : NULL;

	if (end == NULL)
		return NULL;
	*end = 0;
	*head = end + 2;
	return line;
}

/* "GET /path?query HTTP/1.1" */
static bool http_parse_first(char *line, struct http_request *request)
{
	char *target = line != NULL ? strchr(line, ' ') : NULL;
	char *version = target != NULL ? strchr(target + 1, ' ') : NULL;

	if (version == NULL || target[1] != '/' || strcmp(version, " HTTP/1.1") != 0)
		return false;
	*target = *version = 0;
	request->method = line;
	request->target = target + 1;
	for (const char *c = request->target; *c != 0; c++)
		if (!isgraph((unsigned char)*c))
			return false;
	return true;
}

static bool http_parse_query(char *query, struct http_fields *fields)
{
	char *pair;

	while ((pair = strsep(&query, "&")) != NULL) {
		char *name = strsep(&pair, "=");

		if (*name == 0 && pair == NULL)
			continue;
		if (pair == NULL)
			pair = name + strlen(name);
		if (!http_decode(name) || !http_decode(pair) ||
		    !http_add_field(fields, name, pair))
			return false;
	}
	return true;
}

static bool http_parse_target(struct http_request *request)
{
	char *query = request->decoded;
	char *path = strsep(&query, "?");

	request->path = path;
	return http_decode(path) && http_parse_query(query, &request->query);
}

static bool http_parse_header(char *line, struct http_fields *fields)
{
	char *value = strchr(line, ':');

	if (value == NULL || value == line || isspace((unsigned char)value[-1]))
		return false;
	*value++ = 0;
	for (char *c = line; *c != 0; c++)
		*c = (char)tolower((unsigned char)*c);
	value += strspn(value, " \t");
	for (char *end = value + strlen(value);
	     end > value && isspace((unsigned char)end[-1]);)
		*--end = 0;
	return http_add_field(fields, line, value);
}

bool http_request_parse(char *head, struct http_request *request)
{
	char *line = http_next_line(&head);

	request->query.count = request->header.count = 0;
	if (!http_parse_first(line, request))
		return false;
	while ((line = http_next_line(&head)) != NULL && *line != 0)
		if (!http_parse_header(line, &request->header))
			return false;
	strcpy(request->decoded, request->target);
	return http_parse_target(request);
}
