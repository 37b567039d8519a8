/* wrap_fd.c - stands before what closes descriptors, maps them, and connects them. */
#include "profiler/io/meter.h"
#include "profiler/io/wrap/real.h"

/* A copy that dup() or fcntl() makes is looked at when it is read. */
int close(int fd)
{
	meter_closed(fd);
	return real.close(fd);
}

int dup2(int from, int to)
{
	meter_closed(to);
	return real.dup2(from, to);
}

int dup3(int from, int to, int flags)
{
	meter_closed(to);
	return real.dup3(from, to, flags);
}

static void *wrap_fd_mapped(void *start, int flags, int fd)
{
	if (start != MAP_FAILED && (flags & MAP_ANONYMOUS) == 0)
		meter_mapped(fd);
	return start;
}

void *mmap(void *start, size_t size, int protection, int flags, int fd, off_t from)
{
	return wrap_fd_mapped(real.mmap(start, size, protection, flags, fd, from),
			      flags, fd);
}

void *mmap64(void *start, size_t size, int protection, int flags, int fd, off64_t from)
{
	return wrap_fd_mapped(real.mmap64(start, size, protection, flags, fd, from),
			      flags, fd);
}

/* Sockets are noticed, and not counted further. */
#define WRAP_SOCKET(result, name, parameters, ...)                                     \
	result name parameters                                                         \
	{                                                                              \
		meter_touch(fd);                                                       \
		return real.name(fd, __VA_ARGS__);                                     \
	}
WRAP_SOCKET(int, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t length),
	    address, length)
WRAP_SOCKET(ssize_t, recv, (int fd, void *to, size_t size, int flags), to, size, flags)
WRAP_SOCKET(ssize_t, __recv_chk,
	    (int fd, void *to, size_t size, size_t room, int flags), to, size, room,
	    flags)
WRAP_SOCKET(ssize_t, recvfrom,
	    (int fd, void *to, size_t size, int flags, __SOCKADDR_ARG address,
	     socklen_t *length),
	    to, size, flags, address, length)
WRAP_SOCKET(ssize_t, __recvfrom_chk,
	    (int fd, void *to, size_t size, size_t room, int flags,
	     __SOCKADDR_ARG address, socklen_t *length),
	    to, size, room, flags, address, length)
WRAP_SOCKET(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), message,
	    flags)
