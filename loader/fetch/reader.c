#include "loader/fetch/reader.h"
#include "loader/base/blob.h"
#include "loader/fetch.h"
#include "loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	ALIGNMENT = 4096, /* where statx does not tell; no device wants more */
	LOOKS = 16,       /* samples to open before giving up on finding out */
	ATTEMPTS = 4,     /* to read a file that grows meanwhile */
	IDLE = 64 << 20,  /* bytes that the pool may keep: 256 reads of 256 KiB */
};

/* O_NONBLOCK: a file that has become a pipe must not make the open wait for ever. */
static const int flags_of[] = {
	[READER_BUFFERED] = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
	[READER_DIRECT] = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_DIRECT,
	[READER_DROP] = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
};

int reader_ring_flags(const struct reader *reader)
{
	return flags_of[reader->mode] & ~O_CLOEXEC; /* a fixed file is no descriptor */
}

static size_t round_up(size_t size, size_t align)
{
	return (size + align - 1) / align * align;
}

struct blob *reader_room(const struct reader *reader, uint32_t size)
{
	/* A size that is refused is not believed either: the file itself will tell. */
	size_t hint = size <= READER_LARGEST ? size : 0;
	size_t room = round_up(hint + 1, reader->align);

	if (reader->pool != NULL)
		return blob_pool_take(reader->pool, room);
	return blob_new_aligned(room, reader->align);
}

/*
 * Reads from the start until the blob is full or the file ends. A read that ends where
 * the index says, or off the alignment, has met the end: no need to ask once more.
 */
static ssize_t reader_fill(const struct reader *reader, int fd, struct blob *blob,
			   size_t hint, struct fetch_calls *calls)
{
	size_t have = 0;

	while (have < blob->size && have % reader->align == 0) {
		ssize_t got =
			pread(fd, blob->data + have, blob->size - have, (off_t)have);

		if (got < 0 && errno == EINTR)
			continue;
		calls->reads++;
		if (got < 0)
			return -errno;
		calls->bytes += (size_t)got;
		have += (size_t)got;
		if (got == 0 || have == hint)
			break;
	}
	return (ssize_t)have;
}

static int size_now(int fd, uint32_t *size)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -EBADMSG;
	if (stat.st_size > READER_LARGEST)
		return -EFBIG;
	*size = (uint32_t)stat.st_size;
	return 0;
}

static int read_open(const struct reader *reader, int fd, uint32_t size,
		     struct blob **out, struct fetch_calls *calls)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct blob *blob = reader_room(reader, size);
		ssize_t got;
		int rc;

		if (blob == NULL)
			return -ENOMEM;
		got = reader_fill(reader, fd, blob, size, calls);
		if (got > 0 && (size_t)got < blob->size) {
			blob->size = (size_t)got;
			*out = blob;
			return 0;
		}
		blob_put(blob);
		if (got <= 0)
			return got < 0 ? (int)got : -EBADMSG;
		rc = size_now(fd, &size); /* it is bigger than the index says */
		if (rc < 0)
			return rc;
	}
	return -EBUSY;
}

static int read_place(const struct reader *reader, const struct source_place *place,
		      struct blob **blob, struct fetch_calls *calls)
{
	int fd = openat(place->dir, place->path, flags_of[reader->mode]);
	int rc;

	calls->opens++;
	if (fd < 0)
		return -errno;
	rc = read_open(reader, fd, place->size, blob, calls);
	if (rc == 0 && reader->mode == READER_DROP)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return rc;
}

static int reader_copy(const struct reader *reader, const struct source_place *place,
		       struct blob **blob)
{
	if (place->size == 0)
		return -EBADMSG;
	if (place->size > READER_LARGEST)
		return -EFBIG;
	*blob = reader_room(reader, place->size);
	if (*blob == NULL)
		return -ENOMEM;
	(*blob)->size = place->size;
	memcpy((*blob)->data, place->memory, place->size);
	return 0;
}

int reader_read(const struct reader *reader, uint32_t sample, struct blob **blob,
		struct fetch_calls *calls)
{
	struct reader drop = *reader;
	struct source_place place;
	char path[PATH_MAX];
	int rc;

	source_place(reader->source, sample, path, &place);
	if (place.memory != NULL)
		return reader_copy(reader, &place, blob);
	rc = read_place(reader, &place, blob, calls);
	if (rc != -EINVAL || reader->mode != READER_DIRECT)
		return rc;
	/* This file lies elsewhere than the one that reader_look_around() found. */
	drop.mode = READER_DROP;
	drop.align = 1;
	return read_place(&drop, &place, blob, calls);
}

static bool is_memory(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC ||
		fs.f_type == HUGETLBFS_MAGIC);
}

/* What O_DIRECT wants of this file; 0 if it is refused. */
static size_t direct_alignment(int fd)
{
	struct statx now;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &now) == 0 &&
	    (now.stx_mask & STATX_DIOALIGN) != 0)
		return now.stx_dio_mem_align > now.stx_dio_offset_align
			       ? now.stx_dio_mem_align
			       : now.stx_dio_offset_align;
	return ALIGNMENT;
}

/* Learns from one file. False if it cannot be opened. */
static bool reader_look(struct reader *reader, const struct source_place *place,
			bool direct)
{
	int fd = openat(place->dir, place->path, flags_of[READER_BUFFERED]);

	if (fd < 0)
		return false;
	reader->memory = is_memory(fd);
	close(fd);
	if (!direct || reader->memory)
		return true;
	reader->mode = READER_DROP;
	fd = openat(place->dir, place->path, flags_of[READER_DIRECT]);
	if (fd < 0)
		return true;
	reader->align = direct_alignment(fd);
	if (reader->align > 0)
		reader->mode = READER_DIRECT;
	else
		reader->align = 1;
	close(fd);
	return true;
}

static void reader_look_around(struct reader *reader, bool direct)
{
	uint32_t count = source_count(reader->source);
	struct source_place place;
	char path[PATH_MAX];

	for (uint32_t i = 0; i < count && i < LOOKS; i++) {
		source_place(reader->source, i, path, &place);
		reader->memory = place.memory != NULL;
		if (place.memory != NULL || reader_look(reader, &place, direct))
			return;
	}
}

int reader_init(struct reader *reader, const struct source *source, bool direct)
{
	*reader = (struct reader){.source = source, .align = 1};
	reader_look_around(reader, direct);
	reader->pool = blob_pool_new(reader->align, IDLE);
	return reader->pool != NULL ? 0 : -ENOMEM;
}

void reader_fini(struct reader *reader)
{
	blob_pool_free(reader->pool);
}
