/* s3_bucket.c - what lies in the folder, and what it is called. */
#include "tests/tool/s3/s3_bucket.h"
#include "loader/base/error.h"
#include "loader/base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t s3_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	for (; *text != 0; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return random_mix(hash);
}

void s3_etag(const char *key, const struct s3_version *version, uint64_t salt,
	     char etag[S3_ETAG])
{
	uint64_t time = (uint64_t)version->modified.tv_sec * 1000000000u +
			(uint64_t)version->modified.tv_nsec;
	uint64_t first = random_seed(s3_hash(key), version->size, time);
	uint64_t second = random_seed(first, version->inode, salt);

	snprintf(etag, S3_ETAG, "\"%016llx%016llx\"", (unsigned long long)first,
		 (unsigned long long)second);
}

static struct s3_version bucket_version(const struct stat *st)
{
	return (struct s3_version){.size = (uint64_t)st->st_size,
				   .inode = st->st_ino,
				   .modified = st->st_mtim};
}

static int bucket_compare(const void *a, const void *b)
{
	const struct s3_object *left = a, *right = b;

	return strcmp(left->key, right->key);
}

size_t s3_bucket_from(const struct s3_bucket *bucket, const char *key)
{
	size_t low = 0, high = bucket->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(bucket->objects[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct s3_object *s3_bucket_find(const struct s3_bucket *bucket, const char *key)
{
	size_t at = s3_bucket_from(bucket, key);

	return at < bucket->count && strcmp(bucket->objects[at].key, key) == 0
		       ? &bucket->objects[at]
		       : NULL;
}

static int bucket_add(struct s3_bucket *bucket, const char *key, const struct stat *st)
{
	struct s3_object *object;

	if (bucket->count == bucket->room) {
		size_t room = bucket->room * 2 + 64;
		void *more =
			reallocarray(bucket->objects, room, sizeof(struct s3_object));

		if (more == NULL)
			return -ENOMEM;
		bucket->objects = more;
		bucket->room = room;
	}
	object = &bucket->objects[bucket->count];
	*object = (struct s3_object){.key = strdup(key), .version = bucket_version(st)};
	if (object->key == NULL)
		return -ENOMEM;
	bucket->count++;
	return 0;
}

static int bucket_walk(struct s3_bucket *bucket)
{
	char *paths[] = {(char *)(uintptr_t)bucket->folder, NULL};
	FTS *tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int result = tree != NULL ? 0 : -errno;

	while (result == 0 && (entry = fts_read(tree)) != NULL)
		if (entry->fts_info == FTS_F)
			result = bucket_add(
				bucket, entry->fts_path + strlen(bucket->folder) + 1,
				entry->fts_statp);
	if (tree != NULL)
		fts_close(tree);
	return result;
}

static void bucket_forget(struct s3_bucket *bucket)
{
	for (size_t i = 0; i < bucket->count; i++)
		free(bucket->objects[i].key);
	free(bucket->objects);
}

int s3_bucket_scan(struct s3_bucket *bucket, struct error *err)
{
	struct s3_bucket now = {.folder = bucket->folder, .fd = bucket->fd};
	int result = bucket_walk(&now);

	if (result < 0) {
		bucket_forget(&now);
		return error_sys(err, -result, "%s", bucket->folder);
	}
	if (now.count > 0)
		qsort(now.objects, now.count, sizeof(*now.objects), bucket_compare);
	for (size_t i = 0; i < now.count; i++) {
		const struct s3_object *old =
			s3_bucket_find(bucket, now.objects[i].key);

		now.objects[i].tries = old != NULL ? old->tries : 0;
	}
	bucket_forget(bucket);
	*bucket = now;
	return 0;
}

int s3_bucket_open(struct s3_bucket *bucket, const char *folder, struct error *err)
{
	*bucket = (struct s3_bucket){.folder = folder};
	bucket->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (bucket->fd < 0)
		return error_sys(err, errno, "%s", folder);
	return s3_bucket_scan(bucket, err);
}

void s3_bucket_close(struct s3_bucket *bucket)
{
	bucket_forget(bucket);
	close(bucket->fd);
}

/* Whether it can be a file below the folder: no part is empty, "." or "..". */
static bool bucket_is_path(const char *key)
{
	size_t length;

	for (const char *part = key;; part += length + 1) {
		length = strcspn(part, "/");
		if (length == 0 || strncmp(part, "..", length) == 0)
			return false;
		if (part[length] == 0)
			return true;
	}
}

int s3_bucket_read(const struct s3_bucket *bucket, const char *key,
		   struct s3_version *version)
{
	struct stat st;
	int fd = bucket_is_path(key) ? openat(bucket->fd, key, O_RDONLY | O_CLOEXEC)
				     : -1;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	if (fd >= 0)
		*version = bucket_version(&st);
	return fd;
}
