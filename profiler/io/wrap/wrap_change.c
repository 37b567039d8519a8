/* wrap_change.c - stands before what gives files other names or none, or less length. */
#include "profiler/io/kept/written_files.h"
#include "profiler/io/wrap/real.h"

#include <fcntl.h>

static int wrap_change_renamed(int result, int at, const char *path)
{
	if (result == 0)
		written_replaced(at, path);
	return result;
}

/* What gets another name is lost with that. */
static void wrap_change_renames(int from_at, const char *from, int at, const char *to)
{
	written_replaces(from_at, from);
	written_replaces(at, to);
}

int rename(const char *from, const char *to)
{
	wrap_change_renames(AT_FDCWD, from, AT_FDCWD, to);
	return wrap_change_renamed(real.rename(from, to), AT_FDCWD, to);
}

int renameat(int from_at, const char *from, int at, const char *to)
{
	wrap_change_renames(from_at, from, at, to);
	return wrap_change_renamed(real.renameat(from_at, from, at, to), at, to);
}

int renameat2(int from_at, const char *from, int at, const char *to, unsigned flags)
{
	wrap_change_renames(from_at, from, at, to);
	return wrap_change_renamed(real.renameat2(from_at, from, at, to, flags), at,
				   to);
}

/* What is removed is lost as what another file replaces. */
int unlink(const char *path)
{
	written_replaces(AT_FDCWD, path);
	return real.unlink(path);
}

int unlinkat(int at, const char *path, int flags)
{
	if ((flags & AT_REMOVEDIR) == 0)
		written_replaces(at, path);
	return real.unlinkat(at, path, flags);
}

int remove(const char *path)
{
	written_replaces(AT_FDCWD, path);
	return real.remove(path);
}

/* int name(parameters), of what `before` is told */
#define WRAP_SHORTEN(name, before, type, what)                                         \
	int name(type what, off_t length)                                              \
	{                                                                              \
		before(what, length);                                                  \
		return real.name(what, length);                                        \
	}
WRAP_SHORTEN(truncate, written_shortens, const char *, path)
WRAP_SHORTEN(truncate64, written_shortens, const char *, path)
WRAP_SHORTEN(ftruncate, written_shortens_open, int, fd)
WRAP_SHORTEN(ftruncate64, written_shortens_open, int, fd)
