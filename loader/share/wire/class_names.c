/* class_names.c - packs class names into a memfd and reads them back. */
#include "loader/share/wire/class_names.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int class_names_write_all(int fd, const struct source *source)
{
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < source_facts(source)->classes; i++) {
		const char *name = source_class(source, i);

		result = io_write(fd, name, strlen(name) + 1);
	}
	return result;
}

int class_names_write(const struct source *source, struct error *err)
{
	int fd = memfd_create("dsa classes", MFD_CLOEXEC), result;

	if (fd < 0)
		return error_sys(err, errno, "cannot keep the names of classes");
	result = class_names_write_all(fd, source);
	if (result == 0)
		return fd;
	close(fd);
	return error_sys(err, -result, "cannot keep the names of classes");
}

static bool class_names_valid(const char *bytes, size_t size, uint32_t count)
{
	uint32_t ends = 0;

	for (const char *at = bytes; ends < count; ends++) {
		at = memchr(at, '\0', size - (size_t)(at - bytes));
		if (at == NULL)
			return false;
		at++;
	}
	return true;
}

int class_names_read(int fd, uint32_t count, char **names, struct error *err)
{
	struct stat about;
	size_t size;

	if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) ||
	    about.st_size < 0 || about.st_size > CLASS_NAMES_MOST)
		return error_set(err, EPROTO,
				 "the shared loader has no names of classes");
	size = (size_t)about.st_size;
	*names = malloc(size + 1);
	if (*names == NULL)
		return error_sys(err, ENOMEM, "cannot keep the names of classes");
	if (pread(fd, *names, size, 0) == (ssize_t)size &&
	    class_names_valid(*names, size, count))
		return 0;
	free(*names);
	*names = NULL;
	return error_set(err, EPROTO, "the shared loader's names of classes are cut");
}

const char *class_names_get(const char *names, uint32_t count, uint32_t label)
{
	if (label >= count)
		return NULL;
	while (label-- > 0)
		names += strlen(names) + 1;
	return names;
}
