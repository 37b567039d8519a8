/* io.c - repeats reads and writes that end early, or are interrupted. */
#include "loader/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int io_read(int fd, void *bytes, size_t size)
{
	char *at = bytes;

	while (size > 0) {
		ssize_t length = read(fd, at, size);

		if (length < 0 && errno != EINTR)
			return -errno;
		if (length == 0)
			return -EIO;
		if (length > 0) {
			at += length;
			size -= (size_t)length;
		}
	}
	return 0;
}

/* ---- what makes files longer ---- */

/* Beyond RLIMIT_FSIZE the kernel also sends SIGXFSZ, which would end the program. */
struct io_limit {
	sigset_t before;
	bool pending; /* another's */
};

static sigset_t io_limit_signal(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGXFSZ);
	return signals;
}

static void io_limit_begin(struct io_limit *limit, const sigset_t *block)
{
	sigset_t pending;

	pthread_sigmask(SIG_BLOCK, block, &limit->before);
	sigpending(&pending);
	limit->pending = sigismember(&pending, SIGXFSZ) == 1;
}

static void io_limit_end(const struct io_limit *limit, int result)
{
	const struct timespec now = {0};
	const sigset_t signals = io_limit_signal();

	if (result == -EFBIG && !limit->pending)
		sigtimedwait(&signals, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &limit->before, NULL);
}

static int io_write_all(int fd, const char *at, size_t size)
{
	while (size > 0) {
		ssize_t length = write(fd, at, size);

		if (length < 0 && errno != EINTR)
			return -errno;
		if (length > 0) {
			at += length;
			size -= (size_t)length;
		}
	}
	return 0;
}

int io_write(int fd, const void *bytes, size_t size)
{
	const sigset_t signals = io_limit_signal();
	struct io_limit limit;
	int result;

	io_limit_begin(&limit, &signals);
	result = io_write_all(fd, bytes, size);
	io_limit_end(&limit, result);
	return result;
}

int io_truncate(int fd, size_t bytes)
{
	const sigset_t signals = io_limit_signal();
	struct io_limit limit;
	int result;

	io_limit_begin(&limit, &signals);
	result = ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
	io_limit_end(&limit, result);
	return result;
}

int io_allocate(int fd, size_t bytes)
{
	struct io_limit limit;
	sigset_t all;
	int result;

	/* in memory a signal would undo it, each time a timer rings; none can hold back
	 * that the process is stopped */
	sigfillset(&all);
	io_limit_begin(&limit, &all);
	do
		result = posix_fallocate(fd, 0, (off_t)bytes);
	while (result == EINTR);
	io_limit_end(&limit, -result);
	return -result;
}

/* ---- new files ---- */

int io_new_file(const char *path, bool *named)
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

int io_name_file(int fd, const char *path)
{
	char own[32];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0 ? -errno
									    : 0;
}

/* ---- streams ---- */

char *io_text(FILE *stream, char **text)
{
	int failed = ferror(stream);

	if (fclose(stream) == EOF || failed) {
		free(*text);
		*text = NULL;
	}
	return *text;
}
