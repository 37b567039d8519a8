/* reader.c - reads a sample in the calling thread; learns what storage can do. */
#include "loader/fetch/reader.h"
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/limits.h"
#include "loader/fetch.h"
#include "loader/fetch/reader_files.h"
#include "loader/fetch/reader_parts.h"
#include "loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	ALIGNMENT = 4096, /* where statx does not say; no device wants more */
	LOOKS = 16,       /* samples to open before giving up on finding out */
	ATTEMPTS = 4,     /* to read a file that grows meanwhile */
	PAGE = 4096,
	IDLE = 64 << 20, /* bytes that the pool may keep: 256 reads of 256 KiB */
	HELD_NS = 50000, /* until one that is held back looks again */
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

void reader_span(const struct reader *reader, const struct source_place *place,
		 struct reader_span *span)
{
	/* A size that is refused is not used as a hint either: the file has another. */
	size_t hint = place->size <= LIMIT_SAMPLE ? place->size : 0;

	*span = (struct reader_span){.size = place->size, .part = place->part};
	if (place->part) {
		span->skip = place->offset % reader->align;
		span->from = (off_t)(place->offset - span->skip);
		span->length = round_up(span->skip + hint, reader->align);
	} else {
		span->length = round_up(hint + 1, reader->align);
	}
}

bool reader_complete(const struct reader_span *span, size_t got)
{
	size_t end = span->skip + span->size;

	return span->part ? got >= end : got == end;
}

struct blob *reader_room(const struct reader *reader, const struct reader_span *span)
{
	return blob_pool_take(reader->pool, span->length);
}

int reader_check(const struct source_place *place)
{
	if (place->path != NULL && !place->part)
		return 0;
	if (place->size == 0)
		return -EBADMSG;
	return place->size > LIMIT_SAMPLE ? -EFBIG : 0;
}

void reader_pages(const struct source_place *place, off_t *from, off_t *length)
{
	uint64_t end = round_up(place->offset + place->size, PAGE);

	*from = (off_t)(place->offset / PAGE * PAGE);
	*length = place->part ? (off_t)end - *from : 0;
}

void reader_evict(const struct reader *reader, uint32_t sample)
{
	struct source_place place;
	char path[PATH_MAX];
	off_t from, length;
	int fd;

	source_place(reader->source, sample, path, &place);
	if (place.path == NULL)
		return;
	fd = openat(place.dir, place.path, flags_of[READER_BUFFERED]);
	if (fd < 0)
		return;
	/* Dirty pages would stay. fdatasync() would wait for a journal too. */
	reader_pages(&place, &from, &length);
	sync_file_range(fd, from, length,
			SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				SYNC_FILE_RANGE_WAIT_AFTER);
	posix_fadvise(fd, from, length, POSIX_FADV_DONTNEED);
	close(fd);
}

/* One read. What is begun and not over, the kernel may have counted or not. */
static ssize_t reader_call(const struct reader *reader, int fd, const struct iovec *vec,
			   unsigned vecs, off_t from)
{
	ssize_t got;

	while (reader->total->held)
		clock_sleep_until(clock_now() + HELD_NS);
	reader->total->begun++;
	got = vecs == 1 ? pread(fd, vec->iov_base, vec->iov_len, from)
			: preadv(fd, vec, (int)vecs, from);
	reader->total->bytes += got > 0 ? (size_t)got : 0;
	reader->total->reads++;
	return got;
}

/*
 * Reads the span until the blob is full, all is there or the file ends. A read that
 * ends off the alignment has met the end: no need to ask once more.
 */
static ssize_t reader_fill(const struct reader *reader, int fd, struct blob *blob,
			   const struct reader_span *span, struct fetch_calls *calls)
{
	size_t have = 0;

	while (have < blob->size && have % reader->align == 0) {
		const struct iovec rest = {blob->data + have, blob->size - have};
		ssize_t got =
			reader_call(reader, fd, &rest, 1, span->from + (off_t)have);

		if (got < 0 && errno == EINTR)
			continue;
		calls->reads++;
		if (got < 0)
			return -errno;
		calls->bytes += (size_t)got;
		have += (size_t)got;
		if (got == 0 || have >= span->skip + span->size)
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
	if (stat.st_size > LIMIT_SAMPLE)
		return -EFBIG;
	*size = (uint32_t)stat.st_size;
	return 0;
}

/* A part has its size: the file may end right behind it, but not before. */
static int read_part(const struct reader *reader, int fd,
		     const struct source_place *place, struct blob **out,
		     struct fetch_calls *calls)
{
	struct reader_span span;
	struct blob *blob;
	ssize_t got;

	reader_span(reader, place, &span);
	blob = reader_room(reader, &span);
	if (blob == NULL)
		return -ENOMEM;
	got = reader_fill(reader, fd, blob, &span, calls);
	if (got < (ssize_t)(span.skip + span.size)) {
		blob_put(blob);
		return got < 0 ? (int)got : -ENODATA;
	}
	blob_cut(blob, span.skip, span.size);
	*out = blob;
	return 0;
}

static int read_whole(const struct reader *reader, int fd, struct source_place place,
		      struct blob **out, struct fetch_calls *calls)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct reader_span span;
		struct blob *blob;
		ssize_t got;
		int rc;

		reader_span(reader, &place, &span);
		blob = reader_room(reader, &span);
		if (blob == NULL)
			return -ENOMEM;
		got = reader_fill(reader, fd, blob, &span, calls);
		if (got > 0 && (size_t)got < blob->size) {
			blob->size = (size_t)got;
			*out = blob;
			return 0;
		}
		blob_put(blob);
		if (got <= 0)
			return got < 0 ? (int)got : -EBADMSG;
		rc = size_now(fd, &place.size); /* it is bigger than the index says */
		if (rc < 0)
			return rc;
	}
	return -EBUSY;
}

/* A read that is short ends it: samples that are whole are then found one by one. */
static int read_parts(const struct reader *reader, int fd,
		      const struct reader_parts *parts, struct fetch_calls *calls)
{
	off_t from = (off_t)parts->from;
	unsigned vecs;

	for (unsigned at = 0; at < parts->vecs; at += vecs) {
		size_t bytes = 0;
		ssize_t got = -1;

		vecs = reader_parts_chunk(parts, at, &bytes);
		do
			got = reader_call(reader, fd, parts->vec + at, vecs, from);
		while (got < 0 && errno == EINTR);
		calls->reads++;
		if (got < 0)
			return -errno;
		calls->bytes += (size_t)got;
		if ((size_t)got < bytes)
			return -ENODATA;
		from += got;
	}
	return 0;
}

/* Into the parts or, where there are none, into *blob. */
static int read_place(const struct reader *reader, const struct source_place *place,
		      const struct reader_parts *parts, struct blob **blob,
		      struct fetch_calls *calls)
{
	int kept = reader_files_get(reader->files, place), fd = kept;
	off_t from, length;
	int rc;

	if (kept < 0) {
		fd = openat(place->dir, place->path, flags_of[reader->mode]);
		calls->opens += !place->part;
	}
	if (fd < 0)
		return -errno;
	if (parts != NULL)
		rc = read_parts(reader, fd, parts, calls);
	else if (place->part)
		rc = read_part(reader, fd, place, blob, calls);
	else
		rc = read_whole(reader, fd, *place, blob, calls);
	reader_pages(place, &from, &length);
	if (rc == 0 && reader->mode == READER_DROP)
		posix_fadvise(fd, from, length, POSIX_FADV_DONTNEED);
	if (kept < 0)
		close(fd);
	return rc;
}

void reader_place(const struct reader *reader, const struct fetch_job *job, char *path,
		  struct source_place *place)
{
	struct source_place last;

	if (job->members == NULL) {
		source_place(reader->source, job->sample, path, place);
		return;
	}
	source_place(reader->source, job->members[job->count - 1], path, &last);
	source_place(reader->source, job->members[0], path, place);
	place->size = (uint32_t)(last.offset + last.size - place->offset);
}

bool reader_replaced(const struct reader *reader, uint32_t sample)
{
	struct source_place place;
	char path[PATH_MAX];

	source_place(reader->source, sample, path, &place);
	return place.path != NULL && reader_files_replaced(reader->files, &place);
}

bool reader_scatters(const struct reader *reader, const struct fetch_job *job)
{
	return job->members != NULL && reader->align == 1;
}

int reader_read(const struct reader *reader, struct fetch_job *job, struct blob **blob,
		struct reader_parts **parts)
{
	struct reader drop = *reader;
	struct source_place place;
	char path[PATH_MAX];
	int rc;

	reader_place(reader, job, path, &place);
	rc = reader_check(&place);
	if (rc < 0)
		return rc;
	if (place.object != NULL)
		return -EREMOTE;
	if (place.memory != NULL) {
		*blob = blob_lend(place.memory, place.size);
		return *blob != NULL ? 0 : -ENOMEM;
	}
	if (reader_scatters(reader, job)) {
		*parts = reader_parts_new(reader, job);
		if (*parts == NULL)
			return -ENOMEM;
	}
	rc = read_place(reader, &place, *parts, blob, &job->calls);
	if (rc < 0) {
		reader_parts_free(*parts);
		*parts = NULL;
	}
	if (rc != -EINVAL || reader->mode != READER_DIRECT)
		return rc;
	/* This file lies elsewhere than the one that reader_look_around() found. */
	drop.mode = READER_DROP;
	drop.align = 1;
	drop.files = NULL;
	return read_place(&drop, &place, NULL, blob, &job->calls);
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
		if (place.object != NULL)
			continue;
		reader->memory = place.memory != NULL;
		if (place.memory != NULL || reader_look(reader, &place, direct))
			return;
	}
}

void reader_fini(struct reader *reader)
{
	reader_files_free(reader->files);
	blob_pool_free(reader->pool);
}

int reader_init(struct reader *reader, const struct source *source, bool direct,
		struct reader_total *total)
{
	*reader = (struct reader){.source = source, .total = total, .align = 1};
	reader_look_around(reader, direct);
	reader->pool = blob_pool_new(reader->align, IDLE);
	reader->files = reader_files_new(flags_of[reader->mode]);
	if (reader->pool != NULL && reader->files != NULL)
		return 0;
	reader_fini(reader);
	return -ENOMEM;
}
