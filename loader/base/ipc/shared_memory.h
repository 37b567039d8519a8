/*
 * shared_memory.h - memory that other processes may map: a memfd whose size is sealed.
 *
 * Every page is allocated from the start, as huge pages where possible.
 */
#ifndef DSA_SHARED_MEMORY_H
#define DSA_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct error;

#define SHARED_HUGE_PAGE ((size_t)2 << 20)

struct shared_memory {
	void *start; /* NULL: there is none */
	size_t bytes;
	int fd; /* closed on exec */
	bool huge;
};

struct shared_memory_config {
	const char *name; /* in /proc/PID/maps */
	size_t bytes;     /* whole pages: multiples of shared_page() */
	size_t huge_from; /* try huge pages from this multiple of one on; bytes: not */
	bool read_only;   /* whoever maps it later may only read */
};

/* Filled with zeros, and not mapped in forked children. 0 or -errno; then there is
 * nothing to free. -EDQUOT: the control group does not allow so much. */
int shared_memory_make(struct shared_memory *memory,
		       const struct shared_memory_config *config);

/* Records why a ring of so many bytes could not be made; advice: what to make smaller.
 * Returns -errno. */
int shared_memory_fail(struct error *err, int result, size_t bytes, const char *advice);

void shared_memory_free(struct shared_memory *memory); /* twice is allowed */

/* Reserves addresses that begin at a huge page; they are to be mapped over (MAP_FIXED)
 * before they are used. MAP_FAILED and errno. */
void *shared_memory_room(size_t bytes);

/*
 * Keeps a mapping out of the children of fork(), where its data would change when the
 * parent reuses the memory: what they touch of it is a SIGSEGV, or EFAULT of a call.
 */
void shared_memory_own(void *start, size_t bytes);

/* Bytes of a page of this machine: where a mapping may begin. Not less than 4096. */
size_t shared_page(void);

size_t shared_round_up(size_t size, size_t to);

#endif
