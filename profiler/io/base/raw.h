/*
 * raw.h - system calls past everybody's wrappers, this library's too: as the C library's own
 * they return -1 and set errno. And numbers in text, without a call.
 */
#ifndef DSA_IO_RAW_H
#define DSA_IO_RAW_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline int raw_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static inline void raw_close(int fd)
{
	syscall(SYS_close, fd);
}

static inline int raw_allocate(int fd, size_t size)
{
	return (int)syscall(SYS_fallocate, fd, 0, 0, size);
}

/* Memory beside the calling thread's stack, which may be a small one; for raw_unmap(), to
 * which NULL is nothing, too. NULL: there is none. */
static inline void *raw_memory(size_t size)
{
	long at = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == -1 ? NULL : (void *)at;
}

static inline ssize_t raw_pread(int fd, void *to, size_t size, uint64_t from)
{
	return syscall(SYS_pread64, fd, to, size, from);
}

static inline off_t raw_position(int fd)
{
	return syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

static inline void *raw_map(size_t size, int protection, int fd, uint64_t from)
{
	return (void *)syscall(SYS_mmap, NULL, size, protection, MAP_SHARED, fd, from);
}

static inline void raw_unmap(void *start, size_t size)
{
	syscall(SYS_munmap, start, size);
}

enum { RAW_DIGITS = 21 /* of any number, with an end */ };

/* Writes a number before `end`, where there is room for it; returns where it begins. */
static inline char *raw_number(char *end, uint64_t number)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return end;
}

#endif
