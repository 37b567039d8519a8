#include "loader/base/allocate.h"

#include <errno.h>
#include <fcntl.h>

/* A signal undoes what a call has allocated in memory: each call has to be short enough to
 * come to its end between two of a timer's. */
enum { CHUNK = 2 << 20 };

int allocate_file(int fd, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		size_t chunk = bytes - at < CHUNK ? bytes - at : CHUNK;
		int result = posix_fallocate(fd, (off_t)at, (off_t)chunk);

		if (result == 0)
			at += chunk;
		else if (result != EINTR)
			return -result;
	}
	return 0;
}
