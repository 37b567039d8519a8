/*
 * reader.h - one whole sample from a source, read in the calling thread; and what the
 * engines need to know to do the same their own way. Private to loader/fetch/.
 *
 * A reader never changes after reader_init() and may be shared by threads.
 */
#ifndef DSA_FETCH_READER_H
#define DSA_FETCH_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blob;
struct fetch_calls;
struct source;

enum {
	READER_LARGEST = 1 << 30, /* bytes; a bigger sample is refused */
};

enum reader_mode {
	READER_BUFFERED, /* through the page cache */
	READER_DIRECT,   /* O_DIRECT */
	READER_DROP,     /* no O_DIRECT here: buffered, then POSIX_FADV_DONTNEED */
};

struct reader {
	const struct source *source;
	enum reader_mode mode;
	size_t align;           /* of memory and length for READER_DIRECT; else 1 */
	struct blob_pool *pool; /* where blobs come from; NULL: fresh */
	bool memory; /* samples, or the file system they are on, are memory */
};

/*
 * Looks at the source's file system; with direct, takes the best mode it can do.
 * Returns 0 or -ENOMEM.
 */
int reader_init(struct reader *reader, const struct source *source, bool direct);
void reader_fini(struct reader *reader);

/*
 * Flags for an openat() by io_uring into a fixed file. Like all of ours they have
 * O_NONBLOCK, or a file that has become a pipe would hold a kernel worker for ever. On a
 * file system that can't tell whether a read would block (overlayfs) io_uring then reads
 * in place, one after another: auto finds that pread is faster there.
 */
int reader_ring_flags(const struct reader *reader);

/*
 * Room for a file of `size` bytes and at least one byte more, so that one read also
 * tells that the file has not grown. Its size is the room: set it to what was read.
 */
struct blob *reader_room(const struct reader *reader, uint32_t size);

/* Reads the sample whole, whatever its size is by now, and adds to *calls what that
 * took. Returns 0 or -errno. */
int reader_read(const struct reader *reader, uint32_t sample, struct blob **blob,
		struct fetch_calls *calls);

#endif
