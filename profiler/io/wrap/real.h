/*
 * real.h - the C library's functions behind the wrappers.
 *
 * A table of pointers. Until the constructor has looked them up they are plain system
 * calls, so that a wrapper works from a process's first instruction on. This library is
 * initialised before all others; should another insist on that, and open a stream, which
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

/* X(result, name, parameters) */
#define REAL_OPENS(X)                                                                  \
	X(int, open, (const char *path, int flags, ...))                               \
	X(int, open64, (const char *path, int flags, ...))                             \
	X(int, openat, (int at, const char *path, int flags, ...))                     \
	X(int, openat64, (int at, const char *path, int flags, ...))                   \
	X(int, creat, (const char *path, mode_t mode))                                 \
	X(int, creat64, (const char *path, mode_t mode))                               \
	X(int, __open_2, (const char *path, int flags))                                \
	X(int, __open64_2, (const char *path, int flags))                              \
	X(int, __openat_2, (int at, const char *path, int flags))                      \
	X(int, __openat64_2, (int at, const char *path, int flags))

#define REAL_RENAMES(X)                                                                \
	X(int, rename, (const char *from, const char *to))                             \
	X(int, renameat, (int from_at, const char *from, int at, const char *to))      \
	X(int, renameat2,                                                              \
	  (int from_at, const char *from, int at, const char *to, unsigned flags))

#define REAL_REMOVES(X)                                                                \
	X(int, unlink, (const char *path))                                             \
	X(int, unlinkat, (int at, const char *path, int flags))                        \
	X(int, remove, (const char *path))

#define REAL_SHORTENS(X)                                                               \
	X(int, truncate, (const char *path, off_t length))                             \
	X(int, truncate64, (const char *path, off64_t length))                         \
	X(int, ftruncate, (int fd, off_t length))                                      \
	X(int, ftruncate64, (int fd, off64_t length))

#define REAL_READS(X)                                                                  \
	X(ssize_t, read, (int fd, void *to, size_t size))                              \
	X(ssize_t, __read_chk, (int fd, void *to, size_t size, size_t room))           \
	X(ssize_t, readv, (int fd, const struct iovec *to, int count))                 \
	X(ssize_t, pread, (int fd, void *to, size_t size, off_t at))                   \
	X(ssize_t, pread64, (int fd, void *to, size_t size, off64_t at))               \
	X(ssize_t, __pread_chk,                                                        \
	  (int fd, void *to, size_t size, off_t at, size_t room))                      \
	X(ssize_t, __pread64_chk,                                                      \
	  (int fd, void *to, size_t size, off64_t at, size_t room))                    \
	X(ssize_t, preadv, (int fd, const struct iovec *to, int count, off_t at))      \
	X(ssize_t, preadv64, (int fd, const struct iovec *to, int count, off64_t at))  \
	X(ssize_t, preadv2,                                                            \
	  (int fd, const struct iovec *to, int count, off_t at, int flags))            \
	X(ssize_t, preadv64v2,                                                         \
	  (int fd, const struct iovec *to, int count, off64_t at, int flags))

#define REAL_COPIES(X)                                                                 \
	X(ssize_t, sendfile, (int to, int from, off_t *offset, size_t count))          \
	X(ssize_t, sendfile64, (int to, int from, off64_t *offset, size_t count))      \
	X(ssize_t, copy_file_range,                                                    \
	  (int from, off64_t *offset, int to, off64_t *to_offset, size_t count,        \
	   unsigned flags))                                                            \
	X(ssize_t, splice,                                                             \
	  (int from, off64_t *offset, int to, off64_t *to_offset, size_t count,        \
	   unsigned flags))

#define REAL_LATER(X)                                                                  \
	X(int, aio_read, (struct aiocb * request))                                     \
	X(int, aio_read64, (struct aiocb64 * request))                                 \
	X(int, lio_listio,                                                             \
	  (int mode, struct aiocb *const list[], int count, struct sigevent *event))   \
	X(int, lio_listio64,                                                           \
	  (int mode, struct aiocb64 *const list[], int count, struct sigevent *event))

#define REAL_DESCRIPTORS(X)                                                            \
	X(int, close, (int fd))                                                        \
	X(int, dup2, (int from, int to))                                               \
	X(int, dup3, (int from, int to, int flags))                                    \
	X(void *, mmap,                                                                \
	  (void *start, size_t size, int protection, int flags, int fd, off_t from))   \
	X(void *, mmap64,                                                              \
	  (void *start, size_t size, int protection, int flags, int fd, off64_t from))

#define REAL_SOCKETS(X)                                                                \
	X(int, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t length))      \
	X(ssize_t, recv, (int fd, void *to, size_t size, int flags))                   \
	X(ssize_t, __recv_chk,                                                         \
	  (int fd, void *to, size_t size, size_t room, int flags))                     \
	X(ssize_t, recvfrom,                                                           \
	  (int fd, void *to, size_t size, int flags, __SOCKADDR_ARG address,           \
	   socklen_t *length))                                                         \
	X(ssize_t, __recvfrom_chk,                                                     \
	  (int fd, void *to, size_t size, size_t room, int flags,                      \
	   __SOCKADDR_ARG address, socklen_t *length))                                 \
	X(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags))

#define REAL_STREAMS(X)                                                                \
	X(FILE *, fopen, (const char *path, const char *mode))                         \
	X(FILE *, fopen64, (const char *path, const char *mode))                       \
	X(FILE *, freopen, (const char *path, const char *mode, FILE *file))           \
	X(FILE *, freopen64, (const char *path, const char *mode, FILE *file))         \
	X(int, fclose, (FILE * file))                                                  \
	X(size_t, fread, (void *to, size_t size, size_t count, FILE *file))            \
	X(size_t, fread_unlocked, (void *to, size_t size, size_t count, FILE *file))   \
	X(size_t, __fread_chk,                                                         \
	  (void *to, size_t room, size_t size, size_t count, FILE *file))              \
	X(size_t, __fread_unlocked_chk,                                                \
	  (void *to, size_t room, size_t size, size_t count, FILE *file))              \
	X(char *, fgets, (char *to, int size, FILE *file))                             \
	X(char *, fgets_unlocked, (char *to, int size, FILE *file))                    \
	X(char *, __fgets_chk, (char *to, size_t room, int size, FILE *file))          \
	X(char *, __fgets_unlocked_chk, (char *to, size_t room, int size, FILE *file)) \
	X(ssize_t, getline, (char **line, size_t *room, FILE *file))                   \
	X(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *file))         \
	X(ssize_t, __getdelim, (char **line, size_t *room, int end, FILE *file))       \
	X(int, fseek, (FILE * file, long offset, int whence))                          \
	X(int, fseeko, (FILE * file, off_t offset, int whence))                        \
	X(int, fseeko64, (FILE * file, off64_t offset, int whence))                    \
	X(void, rewind, (FILE * file))

#define REAL_ALL(X)                                                                    \
	REAL_OPENS(X)                                                                  \
	REAL_RENAMES(X)                                                                \
	REAL_REMOVES(X)                                                                \
	REAL_SHORTENS(X)                                                               \
	REAL_READS(X)                                                                  \
	REAL_COPIES(X)                                                                 \
	REAL_LATER(X)                                                                  \
	REAL_DESCRIPTORS(X)                                                            \
	REAL_SOCKETS(X)                                                                \
	REAL_STREAMS(X)

#define REAL_POINTER(result, name, parameters) result(*name) parameters;
struct real {
	REAL_ALL(REAL_POINTER)
};
#undef REAL_POINTER

extern struct real real;

/* The wrappers, by the names of what they stand before. */
#define REAL_WRAPPER(result, name, parameters)                                         \
	__attribute__((visibility("default"))) result name parameters;
REAL_ALL(REAL_WRAPPER)
#undef REAL_WRAPPER

#endif
