/* real.c - looks the C library's functions up, once; until then there are system calls. */
#include "profiler/io/wrap/real.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/batch.h"
#include "profiler/io/mapped.h"
#include "profiler/io/meter.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the C library's ---- */

static void real_find(void *pointer, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found != NULL)
		memcpy(pointer, &found, sizeof(found));
}

static void real_find_all(void)
{
#define REAL_FIND(result, name, parameters, ...) real_find((void *)&real.name, #name);
	REAL_ALL(REAL_FIND)
#undef REAL_FIND
}

/* There is no stream without the C library: it is found now. */
static const struct real *real_found(void)
{
	real_find_all();
	return &real;
}

/* ---- until they are found ---- */

static int real_open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int); /* the kernel looks at it only where there is one */
	va_end(args);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int real_openat(int at, const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	return (int)syscall(SYS_openat, at, path, flags, mode);
}

/* A file, or an empty folder. */
static int real_remove_any(const char *path)
{
	int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);

	return result < 0 && errno == EISDIR
		       ? (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)
		       : result;
}

/* dup3() refuses two that are the same. */
static int real_dup_onto(int from, int to)
{
	if (from == to)
		return syscall(SYS_fcntl, from, F_GETFD) < 0 ? -1 : to;
	return (int)syscall(SYS_dup3, from, to, 0);
}

static void real_rewind(FILE *file)
{
	real_found()->rewind(file);
}

#define REAL_BEFORE(result, name, parameters, ...)                                     \
	static result real_##name parameters                                           \
	{                                                                              \
		return (result)(__VA_ARGS__);                                          \
	}
REAL_CALLS(REAL_BEFORE)
#undef REAL_BEFORE

#define REAL_CALL(result, name, parameters, ...)        .name = real_##name,
#define REAL_FUNCTION(result, name, parameters, before) .name = (before),
struct real real = {REAL_CALLS(REAL_CALL) REAL_FUNCTIONS(REAL_FUNCTION)};
#undef REAL_CALL
#undef REAL_FUNCTION

/* ---- the beginning ---- */

static void real_child(void)
{
	attach_child();
	batch_child();
	meter_inside = 0;
}

/* Here, since the C library has not taken over the environment yet. */
static const char *real_variable(char **environment, const char *name)
{
	size_t length = strlen(name);

	for (; environment != NULL && *environment != NULL; environment++)
		if (strncmp(*environment, name, length) == 0)
			return *environment + length;
	return NULL;
}

__attribute__((constructor)) static void real_begin(int argc, char **argv,
						    char **environment)
{
	const char *path = real_variable(environment, "DSA_IO=");
	const char *spare = real_variable(environment, "DSA_IO_FILE=");

	(void)argc;
	(void)argv;
	real_find_all();
	if (path == NULL)
		return;
	attach_begin(path, spare, real_variable(environment, "DSA_IO_RANK="));
	mapped_ignore(path);
	mapped_ignore(spare);
	mapped_ignore(real_variable(environment, "DSA_SESSION="));
	pthread_atfork(NULL, attach_forked, real_child);
}
