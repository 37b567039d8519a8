#include "loader/base/io.h"

#include <errno.h>
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
