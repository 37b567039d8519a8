/* new_folder.c - makes the folder, and writes files under another name first. */
#include "profiler/dataset/new_folder.h"
#include "loader/base/error.h"
#include "loader/base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int new_folder_check_empty(const struct new_folder *folder, struct error *err)
{
	DIR *stream = opendir(folder->path);
	const struct dirent *entry;
	unsigned entries = 0;

	if (stream == NULL)
		return error_sys(err, errno, "cannot read %s", folder->name);
	while (entries == 0 && (entry = readdir(stream)) != NULL)
		entries += strcmp(entry->d_name, ".") != 0 &&
			   strcmp(entry->d_name, "..") != 0;
	closedir(stream);
	if (entries > 0)
		return error_set(
			err, ENOTEMPTY,
			"%s is not empty; name a new folder, or remove it first",
			folder->name);
	return 0;
}

int new_folder_open(struct new_folder *folder, const char *path, struct error *err)
{
	*folder = (struct new_folder){.path = path, .fd = -1};
	name_escape(path, folder->name, sizeof(folder->name));
	folder->made = mkdir(path, 0777) == 0;
	if (!folder->made && errno != EEXIST)
		return error_sys(err, errno, "cannot make the folder %s", folder->name);
	folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->fd < 0)
		return error_sys(err, errno, "cannot open %s", folder->name);
	return new_folder_check_empty(folder, err);
}

/* Where it is or would be made, without links. */
static bool new_folder_place(const char *path, char place[PATH_MAX])
{
	char copy[PATH_MAX];

	if (realpath(path, place) != NULL)
		return true;
	return snprintf(copy, sizeof(copy), "%s", path) < (int)sizeof(copy) &&
	       realpath(dirname(copy), place) != NULL;
}

int new_folder_check_outside(const char *path, const char *from, struct error *err)
{
	char place[PATH_MAX], outer[PATH_MAX], name[NAME_SHOWN], from_name[NAME_SHOWN];
	size_t length;

	if (realpath(from, outer) == NULL || !new_folder_place(path, place))
		return 0;
	length = strcmp(outer, "/") == 0 ? 0 : strlen(outer);
	if (strncmp(place, outer, length) != 0 ||
	    (place[length] != '/' && place[length] != '\0'))
		return 0;
	return error_set(err, EINVAL,
			 "%s lies in the data set %s, and would become a part of it: "
			 "name a folder outside",
			 name_escape(path, name, sizeof(name)),
			 name_escape(from, from_name, sizeof(from_name)));
}

void new_folder_close(struct new_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
}

/* Compares a file with what was written to it, once that is on the disk. */
static int new_folder_prove(int fd, const void *bytes, size_t size)
{
	char read_again[1 << 14];
	size_t at = 0;

	if (fdatasync(fd) < 0)
		return -errno;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	while (at < size) {
		size_t most =
			size - at < sizeof(read_again) ? size - at : sizeof(read_again);
		ssize_t got = pread(fd, read_again, most, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 ||
		    memcmp(read_again, (const char *)bytes + at, (size_t)got) != 0)
			return got < 0 ? -errno : -EIO;
		at += (size_t)got;
	}
	return 0;
}

static int new_folder_write(const struct new_folder *folder, const char *path,
			    const void *bytes, size_t size, bool proven)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC | (proven ? O_TRUNC : O_EXCL);
	char temp[PATH_MAX];
	int result, fd;

	if (snprintf(temp, sizeof(temp), "%s" NEW_FOLDER_TEMP, path) >=
	    (int)sizeof(temp))
		return -ENAMETOOLONG;
	fd = openat(folder->fd, temp, flags, 0666);
	if (fd < 0)
		return -errno;
	result = io_write(fd, bytes, size);
	if (result == 0 && proven)
		result = new_folder_prove(fd, bytes, size);
	if (close(fd) != 0 && result == 0)
		result = -errno;
	if (result == 0 && renameat(folder->fd, temp, folder->fd, path) != 0)
		result = -errno;
	if (result != 0)
		unlinkat(folder->fd, temp, 0);
	return result;
}

int new_folder_put(const struct new_folder *folder, const char *path, const void *bytes,
		   size_t size)
{
	return new_folder_write(folder, path, bytes, size, false);
}

int new_folder_put_proven(const struct new_folder *folder, const char *path,
			  const void *bytes, size_t size)
{
	return new_folder_write(folder, path, bytes, size, true);
}

void new_folder_remove(const struct new_folder *folder)
{
	if (folder->made)
		rmdir(folder->path);
}
