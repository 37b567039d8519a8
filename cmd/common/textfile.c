/* textfile.c - reads a small text file. */
#include "cmd/common/textfile.h"
#include "loader/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

static int textfile_fill(FILE *file, const char *path, char *text, struct error *err)
{
	size_t length = fread(text, 1, TEXT_MAX + 1, file);

	if (ferror(file))
		return error_sys(err, errno, "%s", path);
	if (length > TEXT_MAX)
		return error_set(err, EINVAL, "%s is longer than %d bytes", path,
				 TEXT_MAX);
	if (memchr(text, '\0', length) != NULL)
		return error_set(err, EBADMSG, "%s is no text: it has bytes of 0",
				 path);
	text[length] = '\0';
	return 0;
}

int textfile_read(const char *path, char **text, struct error *err)
{
	FILE *file = fopen(path, "re");
	int result = -ENOMEM;

	if (file == NULL)
		return error_sys(err, errno, "%s", path);
	*text = malloc(TEXT_MAX + 1);
	if (*text != NULL)
		result = textfile_fill(file, path, *text, err);
	else
		error_sys(err, ENOMEM, "%s", path);
	if (result < 0)
		free(*text);
	fclose(file);
	return result;
}
