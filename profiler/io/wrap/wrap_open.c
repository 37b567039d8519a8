/* wrap_open.c - stands before what opens files. */
#include "profiler/io/meter.h"
#include "profiler/io/wrap/real.h"

#include <fcntl.h>
#include <stdarg.h>

static bool wrap_open_has_mode(int flags)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

/* int name(before path, flags, mode where the flags ask for one) */
#define WRAP_OPEN(name, before, ...)                                                   \
	int name(before const char *path, int flags, ...)                              \
	{                                                                              \
		struct meter meter = meter_begin_open();                               \
		mode_t mode = 0;                                                       \
		va_list args;                                                          \
                                                                                       \
		va_start(args, flags);                                                 \
		if (wrap_open_has_mode(flags))                                         \
			mode = va_arg(args, mode_t);                                   \
		va_end(args);                                                          \
		return meter_opened(&meter, real.name(__VA_ARGS__, flags, mode), path, \
				    flags);                                            \
	}

#define NOTHING
#define FOLDER int at,
WRAP_OPEN(open, NOTHING, path)
WRAP_OPEN(open64, NOTHING, path)
WRAP_OPEN(openat, FOLDER, at, path)
WRAP_OPEN(openat64, FOLDER, at, path)

#define WRAP_CREAT(name)                                                               \
	int name(const char *path, mode_t mode)                                        \
	{                                                                              \
		struct meter meter = meter_begin_open();                               \
                                                                                       \
		return meter_opened(&meter, real.name(path, mode), path, O_WRONLY);    \
	}
WRAP_CREAT(creat)
WRAP_CREAT(creat64)

#define WRAP_OPEN_2(name, before, ...)                                                 \
	int name(before const char *path, int flags)                                   \
	{                                                                              \
		struct meter meter = meter_begin_open();                               \
                                                                                       \
		return meter_opened(&meter, real.name(__VA_ARGS__, flags), path,       \
				    flags);                                            \
	}
WRAP_OPEN_2(__open_2, NOTHING, path)
WRAP_OPEN_2(__open64_2, NOTHING, path)
WRAP_OPEN_2(__openat_2, FOLDER, at, path)
WRAP_OPEN_2(__openat64_2, FOLDER, at, path)
