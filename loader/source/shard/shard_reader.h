/*
 * shard_reader.h - reads a shard from its beginning to its end, wherever it lies.
 *
 * An object is what can be read by ranges: a file, or an object of a server. The window
 * over it reads ahead while the caller goes on from byte to byte, and reads little where
 * the caller skips much:
 *
 *	|== read ==|..... skipped: more than `gap` .....|= least =|===== twice =====|
 */
#ifndef DSA_SHARD_READER_H
#define DSA_SHARD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

enum {
	SHARD_MOST = 1 << 20, /* bytes that can be asked for at once */
};

struct shard_object {
	void *state;
	uint64_t size; /* bytes */
	size_t gap;    /* bytes that are read rather than skipped: at most SHARD_MOST */
	size_t least;  /* bytes of a first read */

	/* Reads at most `size` bytes at `from`. Returns how many, 0 at the end, -errno. */
	ssize_t (*read)(void *state, void *to, size_t size, uint64_t from);

	/* It may be called by another thread, once at a time, and so is read ahead. */
	bool ahead;
};

/* A file that is open; fd is the caller's, and outlives the object. */
void shard_object_file(struct shard_object *object, const int *fd, uint64_t size);

/*
 * While one half of its room is looked at, the other is read ahead; what is left of the first
 * then goes before it:
 *
 *	|...... SHARD_MOST ..... left|======= SHARD_MOST ========|
 */
struct shard_window {
	const struct shard_object *object;
	unsigned char *room[2]; /* each two times SHARD_MOST */
	int half;               /* the room that bytes lie in */
	unsigned char *bytes;
	uint64_t from; /* of the first byte */
	size_t have;   /* bytes */
	size_t next;   /* bytes of the next read, if it goes on from there */

	struct shard_ahead *ahead; /* NULL: not begun */
	bool pending;              /* it reads what follows, into the other room */
};

/* 0 or -ENOMEM. */
int shard_window_init(struct shard_window *window, const struct shard_object *object);
void shard_window_fini(struct shard_window *window);

/*
 * The `size` bytes (at most SHARD_MOST) at `at`, valid until the next call. NULL and
 * *result: -errno; -ENODATA when the object ends before that.
 */
const unsigned char *shard_window_get(struct shard_window *window, uint64_t at,
				      size_t size, int *result);

#endif
