#include "loader/base/allocate.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

/* A signal undoes what a call has allocated in memory, and waits for its end therefore; for
 * no longer than that takes. */
enum { CHUNK = 2 << 20 };

static int allocate(int fd, size_t at, size_t bytes)
{
	sigset_t all, before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = posix_fallocate(fd, (off_t)at, (off_t)bytes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

int allocate_file(int fd, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		size_t chunk = bytes - at < CHUNK ? bytes - at : CHUNK;
		int result = allocate(fd, at, chunk);

		if (result == 0)
			at += chunk;
		else if (result != EINTR)
			return -result;
	}
	return 0;
}
