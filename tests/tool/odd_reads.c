/*
 * odd_reads.c - storage with odd ways, for tests of what is counted: a library for
 * LD_PRELOAD that stands before pread() of files whose names end in .jpg.
 *
 *	READ_MOST=4096		a read brings so many bytes at the most
 *	OPEN_AGAIN_EVERY=1000	O_DIRECT is refused (EINVAL) by each file whose number,
 *				the digits before .jpg, is a multiple: it must be opened
 *				once more, without
 *
 * and for a program that reads beside the loader:
 *
 *	READ_BESIDE=FILE	after each batch the program reads FILE, in one call
 */
#include "loader/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SUFFIX ".jpg"

enum { BESIDE = 1 << 16 }; /* the largest FILE */

static unsigned long asked(const char *name)
{
	const char *value = getenv(name);

	return value != NULL ? strtoul(value, NULL, 10) : 0;
}

/* The digits before the suffix; false: it is another file. */
static bool number_of(int fd, unsigned long *number)
{
	char link[32], path[PATH_MAX], *end;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < (ssize_t)sizeof(SUFFIX))
		return false;
	end = path + length - strlen(SUFFIX);
	if (strncmp(end, SUFFIX, strlen(SUFFIX)) != 0)
		return false;
	*end = '\0';
	while (end > path && end[-1] >= '0' && end[-1] <= '9')
		end--;
	*number = strtoul(end, NULL, 10);
	return true;
}

__attribute__((visibility("default"))) ssize_t pread(int fd, void *buffer, size_t size,
						     off_t offset)
{
	unsigned long most = asked("READ_MOST"), every = asked("OPEN_AGAIN_EVERY");
	unsigned long number;

	if (number_of(fd, &number)) {
		if (every > 0 && number % every == 0 &&
		    (fcntl(fd, F_GETFL) & O_DIRECT) != 0) {
			errno = EINVAL;
			return -1;
		}
		if (most > 0 && size > most)
			size = most;
	}
	return syscall(SYS_pread64, fd, buffer, size, offset);
}

static void read_beside(const char *path)
{
	static char bytes[BESIDE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, bytes, sizeof(bytes)) < 0)
		abort();
	close(fd);
}

__attribute__((visibility("default"))) int dsa_next(struct dsa_loader *loader,
						    struct dsa_batch *batch)
{
	const char *path = getenv("READ_BESIDE");
	int (*real)(struct dsa_loader *, struct dsa_batch *), result;

	*(void **)&real = dlsym(RTLD_NEXT, "dsa_next");
	result = real(loader, batch);
	if (path != NULL && result > 0)
		read_beside(path);
	return result;
}
