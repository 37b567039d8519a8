/* procfs.c - reads and parses. */
#include "loader/base/host/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 4, 0))) static int
read_head(char *text, size_t size, const char *root, const char *format, va_list args)
{
	char path[PATH_MAX];
	int start = snprintf(path, sizeof(path), "%s", root), fd;
	ssize_t length;

	text[0] = '\0';
	if (start >= PATH_MAX || vsnprintf(path + start, sizeof(path) - (size_t)start,
					   format, args) >= PATH_MAX - start)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	length = read(fd, text, size - 1);
	if (length < 0)
		length = -errno;
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return (int)length;
}

int procfs_read(char *text, size_t size, const char *root, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = read_head(text, size, root, format, args);
	va_end(args);
	return length;
}

int procfs_line(char *text, size_t size, const char *root, const char *path)
{
	int length = procfs_read(text, size, root, "%s", path);

	if (length < 0)
		return length;
	text[strcspn(text, "\n")] = '\0';
	return (int)strlen(text);
}

static bool leading_number(const char *text, uint64_t *value, const char **end)
{
	char *after;
	unsigned long long number;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoull(text, &after, 10);
	if (errno != 0)
		return false;
	*value = number;
	*end = after;
	return true;
}

bool procfs_number(uint64_t *value, const char *root, const char *format, ...)
{
	char text[64];
	const char *end;
	uint64_t number;
	va_list args;
	int length;

	va_start(args, format);
	length = read_head(text, sizeof(text), root, format, args);
	va_end(args);
	if (length <= 0 || !leading_number(text, &number, &end) ||
	    end[strspn(end, "\n")] != '\0')
		return false;
	*value = number;
	return true;
}

bool procfs_value(const char *text, const char *key, uint64_t *value)
{
	size_t length = strlen(key);
	const char *end;

	for (const char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, key, length) == 0) {
			line += length;
			return leading_number(line + strspn(line, " \t"), value, &end);
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return false;
}

bool procfs_list(const char *text, uint64_t *count)
{
	uint64_t sum = 0, first, last;

	for (;;) {
		if (!leading_number(text, &first, &text))
			return false;
		last = first;
		if (*text == '-' && !leading_number(text + 1, &last, &text))
			return false;
		if (last < first || last > UINT32_MAX)
			return false;
		sum += last - first + 1;
		if (*text != ',')
			break;
		text++;
	}
	if (*text != '\0' && *text != '\n')
		return false;
	*count = sum;
	return true;
}

/* The kernel writes space, tab, line end and backslash as \ooo. */
static char *procfs_decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; to++) {
		unsigned value = 0, digits = 0;

		while (*from == '\\' && digits < 3 && from[1 + digits] >= '0' &&
		       from[1 + digits] <= '7')
			value = value * 8 + (unsigned)(from[1 + digits++] - '0');
		*to = digits == 3 ? (char)value : *from;
		from += digits == 3 ? 4 : 1;
	}
	*to = '\0';
	return text;
}

bool procfs_mount_parse(char *line, struct procfs_mount *mount)
{
	enum { NUMBER, PARENT, DEVICE, ROOT, POINT, FLAGS, FIXED };
	char *fields[FIXED], *rest = line, *field;

	line[strcspn(line, "\n")] = '\0';
	for (int i = 0; i < FIXED; i++)
		if ((fields[i] = strsep(&rest, " ")) == NULL)
			return false;
	do /* as many optional fields as there are; "-" ends them */
		field = strsep(&rest, " ");
	while (field != NULL && strcmp(field, "-") != 0);
	mount->type = strsep(&rest, " ");
	mount->device = strsep(&rest, " ");
	mount->options = rest;
	if (mount->options == NULL ||
	    sscanf(fields[DEVICE], "%9u:%9u", &mount->major, &mount->minor) != 2)
		return false;
	mount->line = line;
	mount->root = procfs_decode(fields[ROOT]);
	mount->point = procfs_decode(fields[POINT]);
	return true;
}

bool procfs_mount_find(const char *root, struct procfs_mount *mount,
		       bool (*wanted)(const struct procfs_mount *mount,
				      const struct procfs_mount *best, const void *arg),
		       const void *arg)
{
	struct procfs_mount now = {0};
	char path[PATH_MAX], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (getline(&line, &size, file) > 0) {
		if (!procfs_mount_parse(line, &now) ||
		    !wanted(&now, found ? mount : NULL, arg))
			continue;
		if (found)
			free(mount->line);
		*mount = now;
		found = true;
		line = NULL; /* the mount keeps it */
		size = 0;
	}
	free(line);
	fclose(file);
	return found;
}

bool procfs_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (; list != NULL; list = strchr(list, ',')) {
		list += *list == ',';
		if (strncmp(list, word, length) == 0 &&
		    (list[length] == ',' || list[length] == '\0'))
			return true;
	}
	return false;
}
