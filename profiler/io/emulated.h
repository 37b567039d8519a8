/*
 * emulated.h - storage and preparation as slow as stated, in any program.
 *
 * The rules are those of loader/base/throttle.h, where a sample is read in one go: its
 * latency and its transfer run side by side, transfers one after another, of all processes
 * together, and what is saved up while the bucket lies idle is one transfer. Here opening
 * a file has the latency, and what is read of it in a row has none any more, and has what
 * was saved up in common; any other read has its own. Bytes that are read again have
 * neither: a page cache would have them.
 */
#ifndef DSA_IO_EMULATED_H
#define DSA_IO_EMULATED_H

#include "profiler/io/fd_table.h"
#include "profiler/io_page.h"

/* When a file whose opening began at `since` may be handed on; counts. */
uint64_t emulated_open(struct io_page *page, struct io_slot *slot, uint64_t since);

/* The same of a read of [from, to). */
struct emulated_read {
	uint64_t since, from, to;
};
uint64_t emulated_read(struct io_page *page, struct io_slot *slot,
		       struct fd_entry *entry, const struct emulated_read *read);

#endif
