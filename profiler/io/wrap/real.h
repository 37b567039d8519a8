/*
 * real.h - the C library's functions behind the wrappers.
 *
 * A table of pointers. Until the constructor has looked them up they are plain system
 * calls, so that a wrapper works from a process's first instruction on. This library is
 * initialised before all others; should another insist on that, and use a stream, which
 * takes memory anyway, they are looked up then.
 */
#ifndef DSA_IO_REAL_H
#define DSA_IO_REAL_H

#include <aio.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * X(result, name, parameters, before): `before` is what is done until it is looked up: a
 * system call; or the same call, looked up now, of what the C library alone can do.
 */
#define REAL_CREATES(X)                                                                \
	X(int, creat, (const char *path, mode_t mode),                                 \
	  syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode))     \
	X(int, creat64, (const char *path, mode_t mode),                               \
	  syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode))     \
	X(int, __open_2, (const char *path, int flags),                                \
	  syscall(SYS_openat, AT_FDCWD, path, flags, 0))                               \
	X(int, __open64_2, (const char *path, int flags),                              \
	  syscall(SYS_openat, AT_FDCWD, path, flags, 0))                               \
	X(int, __openat_2, (int at, const char *path, int flags),                      \
	  syscall(SYS_openat, at, path, flags, 0))                                     \
	X(int, __openat64_2, (int at, const char *path, int flags),                    \
	  syscall(SYS_openat, at, path, flags, 0))

#define REAL_RENAMES(X)                                                                \
	X(int, rename, (const char *from, const char *to),                             \
	  syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0))                     \
	X(int, renameat, (int from_at, const char *from, int at, const char *to),      \
	  syscall(SYS_renameat2, from_at, from, at, to, 0))                            \
	X(int, renameat2,                                                              \
	  (int from_at, const char *from, int at, const char *to, unsigned flags),     \
	  syscall(SYS_renameat2, from_at, from, at, to, flags))

#define REAL_REMOVES(X)                                                                \
	X(int, unlink, (const char *path), syscall(SYS_unlinkat, AT_FDCWD, path, 0))   \
	X(int, unlinkat, (int at, const char *path, int flags),                        \
	  syscall(SYS_unlinkat, at, path, flags))                                      \
	X(int, remove, (const char *path), real_remove_any(path))

#define REAL_SHORTENS(X)                                                               \
	X(int, truncate, (const char *path, off_t length),                             \
	  syscall(SYS_truncate, path, length))                                         \
	X(int, truncate64, (const char *path, off64_t length),                         \
	  syscall(SYS_truncate, path, length))                                         \
	X(int, ftruncate, (int fd, off_t length), syscall(SYS_ftruncate, fd, length))  \
	X(int, ftruncate64, (int fd, off64_t length),                                  \
	  syscall(SYS_ftruncate, fd, length))

#define REAL_READS(X)                                                                  \
	X(ssize_t, read, (int fd, void *to, size_t size),                              \
	  syscall(SYS_read, fd, to, size))                                             \
	X(ssize_t, __read_chk, (int fd, void *to, size_t size, size_t room),           \
	  (void)room, syscall(SYS_read, fd, to, size))                                 \
	X(ssize_t, readv, (int fd, const struct iovec *to, int count),                 \
	  syscall(SYS_readv, fd, to, count))                                           \
	X(ssize_t, pread, (int fd, void *to, size_t size, off_t at),                   \
	  syscall(SYS_pread64, fd, to, size, at))                                      \
	X(ssize_t, pread64, (int fd, void *to, size_t size, off64_t at),               \
	  syscall(SYS_pread64, fd, to, size, at))                                      \
	X(ssize_t, __pread_chk,                                                        \
	  (int fd, void *to, size_t size, off_t at, size_t room), (void)room,          \
	  syscall(SYS_pread64, fd, to, size, at))                                      \
	X(ssize_t, __pread64_chk,                                                      \
	  (int fd, void *to, size_t size, off64_t at, size_t room), (void)room,        \
	  syscall(SYS_pread64, fd, to, size, at))                                      \
	X(ssize_t, preadv, (int fd, const struct iovec *to, int count, off_t at),      \
	  syscall(SYS_preadv, fd, to, count, at, 0))                                   \
	X(ssize_t, preadv64, (int fd, const struct iovec *to, int count, off64_t at),  \
	  syscall(SYS_preadv, fd, to, count, at, 0))                                   \
	X(ssize_t, preadv2,                                                            \
	  (int fd, const struct iovec *to, int count, off_t at, int flags),            \
	  syscall(SYS_preadv2, fd, to, count, at, 0, flags))                           \
	X(ssize_t, preadv64v2,                                                         \
	  (int fd, const struct iovec *to, int count, off64_t at, int flags),          \
	  syscall(SYS_preadv2, fd, to, count, at, 0, flags))

#define REAL_COPIES(X)                                                                 \
	X(ssize_t, sendfile, (int to, int from, off_t *offset, size_t count),          \
	  syscall(SYS_sendfile, to, from, offset, count))                              \
	X(ssize_t, sendfile64, (int to, int from, off64_t *offset, size_t count),      \
	  syscall(SYS_sendfile, to, from, offset, count))                              \
	X(ssize_t, copy_file_range,                                                    \
	  (int from, off64_t *offset, int to, off64_t *to_offset, size_t count,        \
	   unsigned flags),                                                            \
	  syscall(SYS_copy_file_range, from, offset, to, to_offset, count, flags))     \
	X(ssize_t, splice,                                                             \
	  (int from, off64_t *offset, int to, off64_t *to_offset, size_t count,        \
	   unsigned flags),                                                            \
	  syscall(SYS_splice, from, offset, to, to_offset, count, flags))

#define REAL_DESCRIPTORS(X)                                                            \
	X(int, close, (int fd), syscall(SYS_close, fd))                                \
	X(int, dup2, (int from, int to), real_dup_onto(from, to))                      \
	X(int, dup3, (int from, int to, int flags),                                    \
	  syscall(SYS_dup3, from, to, flags))                                          \
	X(void *, mmap,                                                                \
	  (void *start, size_t size, int protection, int flags, int fd, off_t from),   \
	  syscall(SYS_mmap, start, size, protection, flags, fd, from))                 \
	X(void *, mmap64,                                                              \
	  (void *start, size_t size, int protection, int flags, int fd, off64_t from), \
	  syscall(SYS_mmap, start, size, protection, flags, fd, from))

#define REAL_SOCKETS(X)                                                                \
	X(int, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t length),      \
	  syscall(SYS_connect, fd, address.__sockaddr__, length))                      \
	X(ssize_t, recv, (int fd, void *to, size_t size, int flags),                   \
	  syscall(SYS_recvfrom, fd, to, size, flags, NULL, NULL))                      \
	X(ssize_t, __recv_chk,                                                         \
	  (int fd, void *to, size_t size, size_t room, int flags), (void)room,         \
	  syscall(SYS_recvfrom, fd, to, size, flags, NULL, NULL))                      \
	X(ssize_t, recvfrom,                                                           \
	  (int fd, void *to, size_t size, int flags, __SOCKADDR_ARG address,           \
	   socklen_t *length),                                                         \
	  syscall(SYS_recvfrom, fd, to, size, flags, address.__sockaddr__, length))    \
	X(ssize_t, __recvfrom_chk,                                                     \
	  (int fd, void *to, size_t size, size_t room, int flags,                      \
	   __SOCKADDR_ARG address, socklen_t *length),                                 \
	  (void)room,                                                                  \
	  syscall(SYS_recvfrom, fd, to, size, flags, address.__sockaddr__, length))    \
	X(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags),               \
	  syscall(SYS_recvmsg, fd, message, flags))

#define REAL_LATER(X)                                                                  \
	X(int, aio_read, (struct aiocb * request), real_found()->aio_read(request))    \
	X(int, aio_read64, (struct aiocb64 * request),                                 \
	  real_found()->aio_read64(request))                                           \
	X(int, lio_listio,                                                             \
	  (int mode, struct aiocb *const list[], int count, struct sigevent *event),   \
	  real_found()->lio_listio(mode, list, count, event))                          \
	X(int, lio_listio64,                                                           \
	  (int mode, struct aiocb64 *const list[], int count, struct sigevent *event), \
	  real_found()->lio_listio64(mode, list, count, event))

#define REAL_STREAMS(X)                                                                \
	X(FILE *, fopen, (const char *path, const char *mode),                         \
	  real_found()->fopen(path, mode))                                             \
	X(FILE *, fopen64, (const char *path, const char *mode),                       \
	  real_found()->fopen64(path, mode))                                           \
	X(FILE *, freopen, (const char *path, const char *mode, FILE *file),           \
	  real_found()->freopen(path, mode, file))                                     \
	X(FILE *, freopen64, (const char *path, const char *mode, FILE *file),         \
	  real_found()->freopen64(path, mode, file))                                   \
	X(int, fclose, (FILE * file), real_found()->fclose(file))                      \
	X(size_t, fread, (void *to, size_t size, size_t count, FILE *file),            \
	  real_found()->fread(to, size, count, file))                                  \
	X(size_t, fread_unlocked, (void *to, size_t size, size_t count, FILE *file),   \
	  real_found()->fread_unlocked(to, size, count, file))                         \
	X(size_t, __fread_chk,                                                         \
	  (void *to, size_t room, size_t size, size_t count, FILE *file),              \
	  real_found()->__fread_chk(to, room, size, count, file))                      \
	X(size_t, __fread_unlocked_chk,                                                \
	  (void *to, size_t room, size_t size, size_t count, FILE *file),              \
	  real_found()->__fread_unlocked_chk(to, room, size, count, file))             \
	X(char *, fgets, (char *to, int size, FILE *file),                             \
	  real_found()->fgets(to, size, file))                                         \
	X(char *, fgets_unlocked, (char *to, int size, FILE *file),                    \
	  real_found()->fgets_unlocked(to, size, file))                                \
	X(char *, __fgets_chk, (char *to, size_t room, int size, FILE *file),          \
	  real_found()->__fgets_chk(to, room, size, file))                             \
	X(char *, __fgets_unlocked_chk, (char *to, size_t room, int size, FILE *file), \
	  real_found()->__fgets_unlocked_chk(to, room, size, file))                    \
	X(ssize_t, getline, (char **line, size_t *room, FILE *file),                   \
	  real_found()->getline(line, room, file))                                     \
	X(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *file),         \
	  real_found()->getdelim(line, room, end, file))                               \
	X(ssize_t, __getdelim, (char **line, size_t *room, int end, FILE *file),       \
	  real_found()->__getdelim(line, room, end, file))                             \
	X(int, fseek, (FILE * file, long offset, int whence),                          \
	  real_found()->fseek(file, offset, whence))                                   \
	X(int, fseeko, (FILE * file, off_t offset, int whence),                        \
	  real_found()->fseeko(file, offset, whence))                                  \
	X(int, fseeko64, (FILE * file, off64_t offset, int whence),                    \
	  real_found()->fseeko64(file, offset, whence))

#define REAL_CALLS(X)                                                                  \
	REAL_CREATES(X)                                                                \
	REAL_RENAMES(X)                                                                \
	REAL_REMOVES(X)                                                                \
	REAL_SHORTENS(X)                                                               \
	REAL_READS(X)                                                                  \
	REAL_COPIES(X)                                                                 \
	REAL_LATER(X)                                                                  \
	REAL_DESCRIPTORS(X)                                                            \
	REAL_SOCKETS(X)                                                                \
	REAL_STREAMS(X)

/* The same, but `before` is a function of real.c: their parameters or result differ. */
#define REAL_FUNCTIONS(X)                                                              \
	X(int, open, (const char *path, int flags, ...), real_open)                    \
	X(int, open64, (const char *path, int flags, ...), real_open)                  \
	X(int, openat, (int at, const char *path, int flags, ...), real_openat)        \
	X(int, openat64, (int at, const char *path, int flags, ...), real_openat)      \
	X(void, rewind, (FILE * file), real_rewind)

#define REAL_ALL(X) REAL_CALLS(X) REAL_FUNCTIONS(X)

#define REAL_POINTER(result, name, parameters, ...) result(*name) parameters;
struct real {
	REAL_ALL(REAL_POINTER)
};
#undef REAL_POINTER

extern struct real real;

/* The wrappers, by the names of what they stand before. */
#define REAL_WRAPPER(result, name, parameters, ...)                                    \
	__attribute__((visibility("default"))) result name parameters;
REAL_ALL(REAL_WRAPPER)
#undef REAL_WRAPPER

#endif
