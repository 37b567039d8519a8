/* wrap_open.c - stands before what opens files. */
#include "profiler/io/kept/written_files.h"
#include "profiler/io/meter.h"
#include "profiler/io/wrap/real.h"

#include <fcntl.h>
#include <stdarg.h>

static bool wrap_open_has_mode(int flags)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

static struct meter wrap_open_begin(int at, const char *path, int flags)
{
	if ((flags & O_TRUNC) != 0 && (flags & O_ACCMODE) != O_RDONLY &&
	    (flags & O_EXCL) == 0)
		written_truncates(at, path);
	return meter_begin_open();
}

/* int name(before path, flags, mode where the flags ask for one), from a folder on */
#define WRAP_OPEN(name, folder, before, ...)                                           \
	int name(before const char *path, int flags, ...)                              \
	{                                                                              \
		struct meter meter = wrap_open_begin(folder, path, flags);             \
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
WRAP_OPEN(open, AT_FDCWD, NOTHING, path)
WRAP_OPEN(open64, AT_FDCWD, NOTHING, path)
WRAP_OPEN(openat, at, FOLDER, at, path)
WRAP_OPEN(openat64, at, FOLDER, at, path)

#define WRAP_CREAT(name)                                                               \
	int name(const char *path, mode_t mode)                                        \
	{                                                                              \
		const int flags = O_WRONLY | O_CREAT | O_TRUNC;                        \
		struct meter meter = wrap_open_begin(AT_FDCWD, path, flags);           \
                                                                                       \
		return meter_opened(&meter, real.name(path, mode), path, flags);       \
	}
WRAP_CREAT(creat)
WRAP_CREAT(creat64)

#define WRAP_OPEN_2(name, folder, before, ...)                                         \
	int name(before const char *path, int flags)                                   \
	{                                                                              \
		struct meter meter = wrap_open_begin(folder, path, flags);             \
                                                                                       \
		return meter_opened(&meter, real.name(__VA_ARGS__, flags), path,       \
				    flags);                                            \
	}
WRAP_OPEN_2(__open_2, AT_FDCWD, NOTHING, path)
WRAP_OPEN_2(__open64_2, AT_FDCWD, NOTHING, path)
WRAP_OPEN_2(__openat_2, at, FOLDER, at, path)
WRAP_OPEN_2(__openat64_2, at, FOLDER, at, path)
