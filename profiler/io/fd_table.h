/*
 * fd_table.h - what the descriptors of this process are, while it makes a batch.
 *
 * What is known of one holds for one batch: the next looks again. So nothing must be known
 * of how descriptors came to be, and one that went in a way that nobody saw is wrong for a
 * batch at the most. Any thread may call; two that use one descriptor at the same moment
 * may see what each other knows of where it was read.
 */
#ifndef DSA_IO_FD_TABLE_H
#define DSA_IO_FD_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FD_TABLE = 1 << 16 }; /* descriptors; files beyond are not data */

enum fd_kind {
	FD_UNKNOWN,
	FD_OTHER,
	FD_DATA,
	FD_SOCKET,     /* a connection over a network */
	FD_SOCKET_NEW, /* the same, seen for the first time in this batch */
};

struct fd_entry {
	_Atomic uint32_t known; /* batch << 2 | kind */
	_Atomic uint32_t range; /* of the list, its last one, + 1; 0: none */
	_Atomic uint64_t file;  /* equal for equal files */

	/* The stretch that was read in a row last; of a file just opened nothing, at 0. */
	_Atomic uint64_t begin, end;
	_Atomic uint64_t opened_ns; /* 0: or it was read since */
	_Atomic uint64_t saved_ns;  /* for what follows in a row: emulated.h */
	_Atomic uint64_t position;  /* after the last call that moved it */
};

/* What fd is; looks if it is not known in this batch. Sets *entry of data. */
enum fd_kind fd_look(int fd, uint32_t batch, struct fd_entry **entry);

/* The same of a file that was opened just now at `since`, by that path; NULL: no data. */
struct fd_entry *fd_opened(int fd, uint32_t batch, const char *path, uint64_t since);

/* It is closed, or becomes another. */
void fd_forget(int fd);

/*
 * A read brought [from, to). Returns how many bytes of it were not in the stretch that was
 * read in a row before; *seek: it began outside of that, and not at its end either.
 */
uint64_t fd_fresh(struct fd_entry *entry, uint64_t from, uint64_t to, bool *seek);

#endif
