/* file.c - writes a temporary file and renames it. */
#include "reports/common/file.h"
#include "loader/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* The name of a hidden file in the same folder, malloc'd. */
static char *temporary_name(const char *path)
{
	size_t folder = folder_length(path);
	char *name = NULL;

	if (asprintf(&name, "%.*s.%.200s.%ld.tmp", (int)folder, path, path + folder,
		     (long)getpid()) < 0)
		return NULL;
	return name;
}

/* A file of ours that a killed process with our id left is replaced, not followed. */
static int open_temporary(const char *name)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = open(name, flags, 0666);

	if (fd < 0 && errno == EEXIST && unlink(name) == 0)
		fd = open(name, flags, 0666);
	return fd < 0 ? -errno : fd;
}

/* "images/" of images/a.jpg, "." of a.jpg; malloc'd. */
static char *folder_of(const char *path)
{
	size_t length = folder_length(path);

	return length == 0 ? strdup(".") : strndup(path, length);
}

/* Makes a rename last. File systems that can't sync a folder do it by themselves. */
static void sync_folder(const char *path)
{
	char *folder = folder_of(path);
	int fd = folder == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(folder);
}

/* Lets fill write to fd, which it closes; with `sync` until it is on the disk. */
static int fill_fd(int fd, int sync, file_fill *fill, const void *context,
		   struct error *err)
{
	FILE *out = fdopen(fd, "w");
	int result, code = errno;

	if (out == NULL) {
		close(fd);
		return error_sys(err, code, "can't write");
	}
	errno = 0;
	result = fill(out, context, err);
	code = 0;
	if (fflush(out) == EOF || (sync && fsync(fd) < 0) || ferror(out))
		code = errno == 0 ? EIO : errno;
	if (fclose(out) == EOF && code == 0)
		code = errno;
	if (result == 0 && code != 0)
		result = error_sys(err, code, "can't write");
	return result;
}

static int save_by_rename(const char *path, file_fill *fill, const void *context,
			  struct error *err)
{
	char *name = temporary_name(path);
	int result;

	if (name == NULL)
		return error_set(err, ENOMEM, "no memory");
	result = open_temporary(name);
	if (result < 0) {
		error_sys(err, -result, "can't write");
		goto out;
	}
	result = fill_fd(result, 1, fill, context, err);
	if (result == 0 && rename(name, path) < 0)
		result = error_sys(err, errno, "can't write");
	if (result == 0)
		sync_folder(path);
	else
		unlink(name);
out:
	free(name);
	return result;
}

static int save_directly(const char *path, file_fill *fill, const void *context,
			 struct error *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return error_sys(err, errno, "can't write");
	return fill_fd(fd, 0, fill, context, err);
}

/* True of what is there and no regular file: it is written to directly. */
static int is_special(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

/* 0, or what is in the way of writing to path. */
static int file_obstacle(const char *path)
{
	struct stat about;
	char *folder;
	int code;

	if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
		return EISDIR;
	folder = is_special(path) ? strdup(path) : folder_of(path);
	code = folder == NULL ? ENOMEM : access(folder, W_OK) < 0 ? errno : 0;
	free(folder);
	return code;
}

int file_check(const char *path, struct error *err)
{
	int code = file_obstacle(path);

	return code == 0 ? 0 : error_sys(err, code, "%s: can't write", path);
}

int file_save(const char *path, file_fill *fill, const void *context, struct error *err)
{
	int result = is_special(path) ? save_directly(path, fill, context, err)
				      : save_by_rename(path, fill, context, err);

	return result < 0 ? error_within(err, result, "%s", path) : 0;
}
