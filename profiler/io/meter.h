/*
 * meter.h - around each call that opens, reads or maps: what every wrapper does.
 *
 *	meter = meter_begin(fd);
 *	got = the real call;
 *	meter_read(&meter, got, METER_CURRENT);
 *
 * Keeps errno. Takes no memory and no lock; calls the C library's system calls alone, and
 * those past the wrappers. One call inside another is counted once.
 */
#ifndef DSA_IO_METER_H
#define DSA_IO_METER_H

#include "loader/base/clock.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/fd_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { METER_CURRENT = -1 }; /* read where the descriptor stood */

/* A call. */
struct meter {
	struct io_slot *slot;   /* NULL: nothing is counted */
	struct fd_entry *entry; /* of data; NULL: it is none */
	uint64_t since;         /* of data, and of opening in a batch */
	uint32_t batch;
	int fd;
};

/* The batch for which the thread is inside a call already; what a jump out of one leaves
 * here is over with that batch. */
extern _Thread_local uint32_t meter_inside __attribute__((tls_model("initial-exec")));

/* What counted calls of this thread took so far. */
extern _Thread_local uint64_t meter_own_ns __attribute__((tls_model("initial-exec")));

/* A read in a batch: finds out what it reads. */
void meter_enter(struct meter *meter);

static inline struct meter meter_begin(int fd)
{
	struct meter meter = {.slot = attach_self.slot, .fd = fd};

	if (meter.slot == NULL)
		return meter;
	meter.batch = atomic_load_explicit(&attach_self.batch, memory_order_acquire);
	if (meter.batch != 0)
		meter_enter(&meter);
	return meter;
}

/* Counts a read of data that brought [from, from + bytes). */
void meter_data(struct meter *meter, uint64_t from, uint64_t bytes);

/* After a read that returned `got`, at `at` or METER_CURRENT. Returns `got`. */
ssize_t meter_read(struct meter *meter, ssize_t got, int64_t at);

/* Before a file is opened. */
struct meter meter_begin_open(void);

/* After: `fd` or -1 was the result, for `flags` of open(). Returns fd. */
int meter_opened(struct meter *meter, int fd, const char *path, int flags);

/* fd was mapped. */
void meter_mapped(int fd);

/* fd is used as a connection may be. */
static inline void meter_touch(int fd)
{
	struct meter meter = meter_begin(fd);

	if (meter.entry != NULL)
		meter_inside = 0;
}

/* fd is closed, or becomes another. */
static inline void meter_closed(int fd)
{
	if (attach_self.slot != NULL)
		fd_forget(fd);
}

#endif
