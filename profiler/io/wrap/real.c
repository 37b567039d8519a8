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

/* ---- system calls ---- */

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

static int real_open_2(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static int real_openat_2(int at, const char *path, int flags)
{
	return (int)syscall(SYS_openat, at, path, flags, 0);
}

static int real_creat(const char *path, mode_t mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC,
			    mode);
}

static int real_renameat2(int from_at, const char *from, int at, const char *to,
			  unsigned flags)
{
	return (int)syscall(SYS_renameat2, from_at, from, at, to, flags);
}

static int real_renameat(int from_at, const char *from, int at, const char *to)
{
	return real_renameat2(from_at, from, at, to, 0);
}

static int real_rename(const char *from, const char *to)
{
	return real_renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int real_unlinkat(int at, const char *path, int flags)
{
	return (int)syscall(SYS_unlinkat, at, path, flags);
}

static int real_unlink(const char *path)
{
	return real_unlinkat(AT_FDCWD, path, 0);
}

static int real_remove(const char *path)
{
	int result = real_unlink(path);

	return result < 0 && errno == EISDIR
		       ? real_unlinkat(AT_FDCWD, path, AT_REMOVEDIR)
		       : result;
}

static int real_truncate(const char *path, off_t length)
{
	return (int)syscall(SYS_truncate, path, length);
}

static int real_ftruncate(int fd, off_t length)
{
	return (int)syscall(SYS_ftruncate, fd, length);
}

static ssize_t real_read(int fd, void *to, size_t size)
{
	return syscall(SYS_read, fd, to, size);
}

static ssize_t real_read_chk(int fd, void *to, size_t size, size_t room)
{
	(void)room;
	return syscall(SYS_read, fd, to, size);
}

static ssize_t real_readv(int fd, const struct iovec *to, int count)
{
	return syscall(SYS_readv, fd, to, count);
}

static ssize_t real_pread(int fd, void *to, size_t size, off_t at)
{
	return syscall(SYS_pread64, fd, to, size, at);
}

static ssize_t real_pread_chk(int fd, void *to, size_t size, off_t at, size_t room)
{
	(void)room;
	return syscall(SYS_pread64, fd, to, size, at);
}

static ssize_t real_preadv(int fd, const struct iovec *to, int count, off_t at)
{
	return syscall(SYS_preadv, fd, to, count, at, 0);
}

static ssize_t real_preadv2(int fd, const struct iovec *to, int count, off_t at,
			    int flags)
{
	return syscall(SYS_preadv2, fd, to, count, at, 0, flags);
}

static ssize_t real_sendfile(int to, int from, off_t *offset, size_t count)
{
	return syscall(SYS_sendfile, to, from, offset, count);
}

static ssize_t real_copy_file_range(int from, off64_t *offset, int to,
				    off64_t *to_offset, size_t count, unsigned flags)
{
	return syscall(SYS_copy_file_range, from, offset, to, to_offset, count, flags);
}

static ssize_t real_splice(int from, off64_t *offset, int to, off64_t *to_offset,
			   size_t count, unsigned flags)
{
	return syscall(SYS_splice, from, offset, to, to_offset, count, flags);
}

static int real_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static int real_dup3(int from, int to, int flags)
{
	return (int)syscall(SYS_dup3, from, to, flags);
}

/* dup3() refuses two that are the same. */
static int real_dup2(int from, int to)
{
	if (from == to)
		return syscall(SYS_fcntl, from, F_GETFD) < 0 ? -1 : to;
	return real_dup3(from, to, 0);
}

static void *real_mmap(void *start, size_t size, int protection, int flags, int fd,
		       off_t from)
{
	return (void *)syscall(SYS_mmap, start, size, protection, flags, fd, from);
}

static int real_connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
	return (int)syscall(SYS_connect, fd, address.__sockaddr__, length);
}

static ssize_t real_recvfrom(int fd, void *to, size_t size, int flags,
			     __SOCKADDR_ARG address, socklen_t *length)
{
	return syscall(SYS_recvfrom, fd, to, size, flags, address.__sockaddr__, length);
}

static ssize_t real_recvfrom_chk(int fd, void *to, size_t size, size_t room, int flags,
				 __SOCKADDR_ARG address, socklen_t *length)
{
	(void)room;
	return syscall(SYS_recvfrom, fd, to, size, flags, address.__sockaddr__, length);
}

static ssize_t real_recv(int fd, void *to, size_t size, int flags)
{
	return syscall(SYS_recvfrom, fd, to, size, flags, NULL, NULL);
}

static ssize_t real_recv_chk(int fd, void *to, size_t size, size_t room, int flags)
{
	(void)room;
	return syscall(SYS_recvfrom, fd, to, size, flags, NULL, NULL);
}

static ssize_t real_recvmsg(int fd, struct msghdr *message, int flags)
{
	return syscall(SYS_recvmsg, fd, message, flags);
}

/* There is no stream without the C library: it is found now. */
static void real_find_all(void);

static FILE *real_fopen(const char *path, const char *mode)
{
	real_find_all();
	return real.fopen(path, mode);
}

static FILE *real_fopen64(const char *path, const char *mode)
{
	real_find_all();
	return real.fopen64(path, mode);
}

struct real real = {
	.open = real_open,
	.open64 = real_open,
	.openat = real_openat,
	.openat64 = real_openat,
	.creat = real_creat,
	.creat64 = real_creat,
	.__open_2 = real_open_2,
	.__open64_2 = real_open_2,
	.__openat_2 = real_openat_2,
	.__openat64_2 = real_openat_2,
	.rename = real_rename,
	.renameat = real_renameat,
	.renameat2 = real_renameat2,
	.unlink = real_unlink,
	.unlinkat = real_unlinkat,
	.remove = real_remove,
	.truncate = real_truncate,
	.truncate64 = real_truncate,
	.ftruncate = real_ftruncate,
	.ftruncate64 = real_ftruncate,
	.read = real_read,
	.__read_chk = real_read_chk,
	.readv = real_readv,
	.pread = real_pread,
	.pread64 = real_pread,
	.__pread_chk = real_pread_chk,
	.__pread64_chk = real_pread_chk,
	.preadv = real_preadv,
	.preadv64 = real_preadv,
	.preadv2 = real_preadv2,
	.preadv64v2 = real_preadv2,
	.sendfile = real_sendfile,
	.sendfile64 = real_sendfile,
	.copy_file_range = real_copy_file_range,
	.splice = real_splice,
	.close = real_close,
	.dup2 = real_dup2,
	.dup3 = real_dup3,
	.mmap = real_mmap,
	.mmap64 = real_mmap,
	.connect = real_connect,
	.recv = real_recv,
	.__recv_chk = real_recv_chk,
	.recvfrom = real_recvfrom,
	.__recvfrom_chk = real_recvfrom_chk,
	.recvmsg = real_recvmsg,
	.fopen = real_fopen,
	.fopen64 = real_fopen64,
};

/* ---- the C library's ---- */

static void real_find(void *pointer, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found != NULL)
		memcpy(pointer, &found, sizeof(found));
}

static void real_find_all(void)
{
#define REAL_FIND(result, name, parameters) real_find((void *)&real.name, #name);
	REAL_ALL(REAL_FIND)
#undef REAL_FIND
}

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
	attach_begin(path, spare);
	mapped_ignore(path);
	mapped_ignore(spare);
	mapped_ignore(real_variable(environment, "DSA_SESSION="));
	pthread_atfork(NULL, attach_forked, real_child);
}
