/* json_file.c - reads a JSON file: checks its size, its syntax and its schema. */
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "reports/common/escape.h"
#include "reports/json/json.h"
#include "reports/json/json_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All of the file that fd is; NULL with err filled. */
static char *json_file_slurp(int fd, const char *what, size_t *size, struct error *err)
{
	struct stat about;
	char *text;
	ssize_t got;

	if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
		return error_null(error_set(err, EINVAL, "is not a file"));
	if (about.st_size > JSON_RESULT_MAX)
		return error_null(error_set(
			err, EFBIG, "is larger than 8 MiB: it is not %s", what));
	text = malloc((size_t)about.st_size + 1);
	if (text == NULL)
		return error_null(error_set(err, ENOMEM, "no memory"));
	for (*size = 0; *size < (size_t)about.st_size; *size += (size_t)got) {
		got = read(fd, text + *size, (size_t)about.st_size - *size);
		if (got <= 0)
			break;
	}
	return text;
}

char *json_part_slurp(const char *path, const char *what, size_t *size, int *result,
		      struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text;

	if (fd < 0) {
		*result = error_sys(err, errno, "can't open %s", path);
		return NULL;
	}
	text = json_file_slurp(fd, what, size, err);
	close(fd);
	*result = text == NULL ? error_within(err, -EBADMSG, "%s", path) : 0;
	return text;
}

json_t *json_part_parse(const char *text, size_t size, struct error *err)
{
	char shown[2 * JSON_ERROR_TEXT_LENGTH];
	json_error_t why;
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);

	if (root == NULL)
		error_set(err, EBADMSG, "line %d, column %d: %s", why.line, why.column,
			  escape_to(shown, sizeof(shown), why.text));
	return root;
}

int json_part_schema(const json_t *root, const struct json_part_kind *kind,
		     struct error *err)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	char shown[NAME_SHOWN];

	if (schema == NULL)
		return error_set(err, EBADMSG, "has no \"schema\": it is not %s",
				 kind->what);
	if (strncmp(schema, kind->schema, strcspn(kind->schema, "/") + 1) != 0)
		return error_set(err, EPROTO, "has schema \"%s\": it is not %s; %s",
				 name_escape(schema, shown, sizeof(shown)), kind->what,
				 kind->instead);
	if (strcmp(schema, kind->schema) != 0)
		return error_set(err, EPROTO,
				 "has schema \"%s\", this dsa reads \"%s\"; %s",
				 name_escape(schema, shown, sizeof(shown)),
				 kind->schema, kind->advice);
	return 0;
}
