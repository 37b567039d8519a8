/* io.c - repeats reads and writes that end early, or are interrupted. */
#include "loader/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
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

int io_write(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

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

int io_allocate(int fd, size_t bytes)
{
	sigset_t all, before;
	int result;

	/* in memory a signal would undo it, each time a timer rings; none can hold back
	 * that the process is stopped */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	do
		result = posix_fallocate(fd, 0, (off_t)bytes);
	while (result == EINTR);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -result;
}

char *io_text(FILE *stream, char **text)
{
	int failed = ferror(stream);

	if (fclose(stream) == EOF || failed) {
		free(*text);
		*text = NULL;
	}
	return *text;
}
