#include "loader/base/allocate.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

int allocate_file(int fd, size_t bytes)
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
