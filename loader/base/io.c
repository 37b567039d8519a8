#include "loader/source/read_file.h"

#include <errno.h>
#include <unistd.h>

int read_file_read(int fd, void *bytes, size_t size)
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

int read_file_write(int fd, const void *bytes, size_t size)
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
	return fsync(fd) < 0 ? -errno : 0;
}
