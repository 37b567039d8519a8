/* data_path.c - looks at the beginnings and ends of paths. */
#include "profiler/io/base/data_path.h"
#include "profiler/io/base/raw.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool data_path_begins(const char *path, const char *with)
{
	return strncmp(path, with, strlen(with)) == 0;
}

static bool data_path_ends(const char *path, const char *with)
{
	size_t length = strlen(path), of = strlen(with);

	return length >= of && memcmp(path + length - of, with, of) == 0;
}

static bool data_path_system(const char *path)
{
	return data_path_begins(path, "/proc/") || data_path_begins(path, "/sys/") ||
	       data_path_begins(path, "/memfd:") ||
	       (data_path_begins(path, "/dev/") &&
		!data_path_begins(path, "/dev/shm/"));
}

/* "libc.so", "libc.so.6"; not "image.some.jpg". */
static bool data_path_library(const char *path)
{
	const char *name = strrchr(path, '/'), *found;

	found = strstr(name != NULL ? name : path, ".so");
	return found != NULL &&
	       (found[3] == '\0' ||
		(found[3] == '.' && found[4] >= '0' && found[4] <= '9'));
}

bool data_path(const char *path)
{
	return path[0] != '\0' && !data_path_system(path) && !data_path_library(path) &&
	       !data_path_ends(path, ".py") && !data_path_ends(path, ".pyc") &&
	       !data_path_ends(path, " (deleted)") &&
	       strstr(path, "/__pycache__/") == NULL;
}

enum { LINK = 64 };

/* Writes the end of a link before `at`, and returns where it begins then. */
static char *data_path_before(char *at, const char *text)
{
	size_t length = strlen(text);

	return memcpy(at - length, text, length);
}

static const char *data_path_link(uint32_t pid, int fd, char link[LINK])
{
	char *at = link + (LINK - 1);

	*at = '\0';
	at = data_path_before(raw_number(at, (uint32_t)fd), "/fd/");
	at = pid > 0 ? raw_number(at, pid) : data_path_before(at, "self");
	return data_path_before(at, "/proc/");
}

int data_path_there(uint32_t pid, int fd, char *path, size_t size)
{
	char link[LINK];
	long length = syscall(SYS_readlinkat, AT_FDCWD, data_path_link(pid, fd, link),
			      path, size);

	if (length < 0 || (size_t)length >= size || path[0] != '/')
		return -1;
	path[length] = '\0';
	return (int)length;
}

int data_path_of(int fd, char *path, size_t size)
{
	return data_path_there(0, fd, path, size);
}
