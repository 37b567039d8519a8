/* wrap_read.c - stands before what reads descriptors. */
#include "profiler/io/meter.h"
#include "profiler/io/wrap/real.h"

/* ssize_t name(parameters), which reads at `from`; the real one takes the rest. */
#define WRAP_READ(name, from, parameters, ...)                                         \
	ssize_t name parameters                                                        \
	{                                                                              \
		struct meter meter = meter_begin(fd);                                  \
                                                                                       \
		return meter_read(&meter, real.name(fd, __VA_ARGS__), from);           \
	}

WRAP_READ(read, METER_CURRENT, (int fd, void *to, size_t size), to, size)
WRAP_READ(__read_chk, METER_CURRENT, (int fd, void *to, size_t size, size_t room), to,
	  size, room)
WRAP_READ(readv, METER_CURRENT, (int fd, const struct iovec *to, int count), to, count)
WRAP_READ(pread, at, (int fd, void *to, size_t size, off_t at), to, size, at)
WRAP_READ(pread64, at, (int fd, void *to, size_t size, off64_t at), to, size, at)
WRAP_READ(__pread_chk, at, (int fd, void *to, size_t size, off_t at, size_t room), to,
	  size, at, room)
WRAP_READ(__pread64_chk, at, (int fd, void *to, size_t size, off64_t at, size_t room),
	  to, size, at, room)
WRAP_READ(preadv, at, (int fd, const struct iovec *to, int count, off_t at), to, count,
	  at)
WRAP_READ(preadv64, at, (int fd, const struct iovec *to, int count, off64_t at), to,
	  count, at)

/* These read where the descriptor stands if at is -1: METER_CURRENT. */
WRAP_READ(preadv2, at, (int fd, const struct iovec *to, int count, off_t at, int flags),
	  to, count, at, flags)
WRAP_READ(preadv64v2, at,
	  (int fd, const struct iovec *to, int count, off64_t at, int flags), to, count,
	  at, flags)
