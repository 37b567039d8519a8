/*
 * reader.h - one sample from a source, read in the calling thread; and what the engines
 * need to know to do the same their own way. Private to loader/fetch/.
 *
 *	whole file:	|<------------ length ------------>|  the file ends before that
 *	part:		|<- skip ->|<- size ->|<- padding->|  O_DIRECT: at the alignment
 *			from
 *
 * A reader never changes after reader_init() and may be shared by threads.
 */
#ifndef DSA_FETCH_READER_H
#define DSA_FETCH_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct blob;
struct fetch_job;
struct reader_files;
struct reader_parts;
struct source;
struct source_place;

enum reader_mode {
	READER_BUFFERED, /* through the page cache */
	READER_DIRECT,   /* O_DIRECT */
	READER_DROP,     /* no O_DIRECT here: buffered, then POSIX_FADV_DONTNEED */
};

/* What all threads have read by pread(), which the kernel counts as their process's. */
struct reader_total {
	atomic_uint_fast64_t begun, reads, bytes; /* reads are over */
	atomic_bool held;                         /* none begins until it is not */
};

struct reader {
	const struct source *source;
	struct reader_total *total;
	enum reader_mode mode;
	size_t align; /* of memory, offset and length for READER_DIRECT; else 1 */
	struct blob_pool *pool;     /* where blobs come from */
	struct reader_files *files; /* shards that stay open; NULL: none */
	bool memory; /* samples, or the file system they are on, are memory */
};

/* Where the read of a job begins and ends: that of its sample, or of all its members.
 * path: PATH_MAX. */
void reader_place(const struct reader *reader, const struct fetch_job *job, char *path,
		  struct source_place *place);

/*
 * Looks at the source's file system; with direct, takes the best mode it can do.
 * Adds to *total, which outlives it. Returns 0 or -ENOMEM.
 */
int reader_init(struct reader *reader, const struct source *source, bool direct,
		struct reader_total *total);
void reader_fini(struct reader *reader);

/*
 * Flags for an openat() by io_uring into a fixed file. Like all of ours they have
 * O_NONBLOCK, or a file that has become a pipe would hold a kernel worker for ever. On
 * a file system that can't say whether a read would block (overlayfs) io_uring then
 * reads in place, one after another: auto finds that pread is faster there.
 */
int reader_ring_flags(const struct reader *reader);

/* What to read of a sample's file. */
struct reader_span {
	off_t from;
	size_t length;     /* of a whole file at least a byte more than it is to have */
	size_t skip, size; /* where in these bytes the sample is; of a file a hint */
	bool part;
};

void reader_span(const struct reader *reader, const struct source_place *place,
		 struct reader_span *span);

/* True if `got` bytes of the span, read at once, hold the sample, no more to ask. */
bool reader_complete(const struct reader_span *span, size_t got);

/* Room for the span. Its size is span->length: set it to what was read. */
struct blob *reader_room(const struct reader *reader, const struct reader_span *span);

/* 0, or -errno if the place alone says that the sample can't be read: an exact size of
 * nothing or of too much. */
int reader_check(const struct source_place *place);

/* The pages of the file that the sample lies in; length 0: all of them. */
void reader_pages(const struct source_place *place, off_t *from, off_t *length);

/* Puts these pages out of the page cache, after writing back those that are dirty. */
void reader_evict(const struct reader *reader, uint32_t sample);

/* True if the sample is read from a shard that stays open, and another lies there by now. */
bool reader_replaced(const struct reader *reader, uint32_t sample);

/* True if the samples of a job's read go into reader_parts, not into one blob. */
bool reader_scatters(const struct reader *reader, const struct fetch_job *job);

/* Reads a job's place whole, of a whole file whatever its size is by now, into *blob or
 * *parts, which are NULL, and adds to job->calls what that took. Returns 0 or -errno. */
int reader_read(const struct reader *reader, struct fetch_job *job, struct blob **blob,
		struct reader_parts **parts);

#endif
