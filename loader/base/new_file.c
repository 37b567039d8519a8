/* new_file.c - makes files by O_TMPFILE. */
#include "loader/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int new_file_make(const char *path, bool *named)
{
	char *copy = strdup(path), *slash;
	const char *folder = ".";
	int fd;

	if (copy == NULL)
		return -ENOMEM;
	slash = strrchr(copy, '/');
	if (slash != NULL) {
		slash[slash == copy] = '\0'; /* the root's own slash stays */
		folder = copy;
	}
	*named = false;
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		*named = true;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	free(copy);
	return fd < 0 ? -errno : fd;
}

int new_file_name(int fd, const char *path)
{
	char own[32];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0 ? -errno
									    : 0;
}
