/* index_cache.c - saves indexes as files and loads those that still fit. */
#include "loader/source/index_cache.h"
#include "loader/base/clock.h"
#include "loader/base/io.h"
#include "loader/base/random.h"
#include "loader/base/thread_pool.h"
#include "loader/source/indexed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	CHECKED = 4096,   /* samples whose size is compared */
	PORTION = 64,     /* of checks that a thread takes at a time */
	ABANDONED_S = 60, /* age at which an unfinished file has no writer any more */
};

static const int64_t settled_ns = 2000000000;

#define LOCK_WAIT UINT64_C(300000000000)

static bool index_cache_join(char *path, const char *folder, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

/* Makes the user's cache folder and ours in it, as far as they are missing. */
static bool user_folder(char *folder)
{
	const char *base = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char path[PATH_MAX];

	if (base == NULL || base[0] != '/') {
		if (home == NULL || home[0] != '/' ||
		    !index_cache_join(path, home, ".cache"))
			return false;
		base = path;
	}
	mkdir(base, 0700);
	return index_cache_join(folder, base, "dsa");
}

/* A list has the name of its file besides: one folder may hold several. */
static bool hash_place(const char *base, const char *dataset, uint64_t seed,
		       uint64_t *hash)
{
	const char *slash = strrchr(dataset, '/');
	char real[PATH_MAX];

	if (realpath(base, real) == NULL)
		return false;
	*hash = XXH3_64bits_withSeed(real, strlen(real), seed);
	if (strcmp(base, dataset) != 0) {
		const char *name = slash != NULL ? slash + 1 : dataset;

		*hash = XXH3_64bits_withSeed(name, strlen(name), *hash);
	}
	return true;
}

static void index_cache_name(struct index_cache *cache, const char *index_dir,
			     uint64_t hash)
{
	char folder[PATH_MAX], name[32];

	if (index_dir == NULL && !user_folder(folder))
		return;
	if (index_dir != NULL)
		snprintf(folder, sizeof(folder), "%s", index_dir);
	if (folder[0] == '\0')
		return;
	mkdir(folder, 0700);
	snprintf(name, sizeof(name), "index-%016llx", (unsigned long long)hash);
	if (!index_cache_join(cache->path, folder, name))
		cache->path[0] = '\0';
}

void index_cache_open(struct index_cache *cache, const char *index_dir,
		      const char *base, const char *dataset, uint64_t seed)
{
	uint64_t hash;

	cache->path[0] = '\0';
	if (hash_place(base, dataset, seed, &hash))
		index_cache_name(cache, index_dir, hash);
}

void index_cache_open_remote(struct index_cache *cache, const char *index_dir,
			     const char *place)
{
	cache->path[0] = '\0';
	index_cache_name(cache, index_dir, XXH3_64bits(place, strlen(place)));
}

/* The whole of a file that is ours. NULL: there is none. */
static void *read_own(const char *path, size_t *size)
{
	/* a FIFO would be waited for */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	char *block = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_uid == geteuid()) {
		*size = (size_t)status.st_size;
		block = malloc(*size + 1);
	}
	if (block != NULL && io_read(fd, block, *size) < 0) {
		free(block);
		block = NULL;
	}
	close(fd);
	return block;
}

/* A comparison of an index with its files, shared out to threads. */
struct check {
	const struct index *index;
	const struct index_origin *origin;
	uint64_t samples; /* to compare: so many, from `first` on, evenly */
	uint64_t first;
	atomic_uint_fast64_t next; /* folder, then sample that nobody has taken yet */
	atomic_bool stale;
};

static bool folder_fits(const struct check *check, uint64_t number)
{
	const struct index_folder *folder = &check->index->folders[number];
	const char *path = check->index->text + folder->path;
	struct index_stamp now;
	struct stat status;
	int result = path[0] == '\0' ? fstat(check->origin->dataset_fd, &status)
				     : fstatat(check->origin->base, path, &status, 0);

	if (result < 0)
		return false;
	index_stamp_set(&now, &status);
	return memcmp(&now, &folder->stamp, sizeof(now)) == 0;
}

static bool sample_fits(const struct check *check, uint64_t number)
{
	uint64_t count = check->index->head->samples;
	uint32_t sample =
		(uint32_t)((check->first + number * count / check->samples) % count);
	char buffer[PATH_MAX];
	struct stat status;
	uint32_t size = 0;

	if (fstatat(check->origin->base, index_path(check->index, sample, buffer),
		    &status, 0) == 0)
		size = index_bytes(&status);
	return size == check->index->samples[sample].size;
}

static void index_cache_compare(void *context)
{
	struct check *check = context;
	uint64_t folders = check->index->head->folders;
	uint64_t count = folders + check->samples;
	uint64_t first;

	while (!check->stale &&
	       (first = atomic_fetch_add(&check->next, PORTION)) < count)
		for (uint64_t i = first; i < first + PORTION && i < count; i++)
			if (i < folders ? !folder_fits(check, i)
					: !sample_fits(check, i - folders))
				check->stale = true;
}

static bool index_cache_fits(const struct index *index,
			     const struct index_origin *origin)
{
	uint32_t count = index->head->samples;
	bool parts = index->head->offsets > 0;
	struct random random = {clock_now()};
	struct check check = {
		.index = index,
		.origin = origin,
		.samples = parts             ? 0
			   : count < CHECKED ? count
					     : CHECKED,
		.first = random_below(&random, count),
	};

	thread_pool_run(origin->threads, index_cache_compare, &check);
	return !check.stale;
}

/* The kernel lets go of the lock of a process that ends in any way. */
int index_cache_lock(const struct index_cache *cache)
{
	const struct timespec rest = {.tv_nsec = 10000000};
	uint64_t end = clock_now() + LOCK_WAIT;
	char path[PATH_MAX + 8];
	int lock;

	if (cache->path[0] == '\0')
		return -1;
	snprintf(path, sizeof(path), "%s.lock", cache->path);
	lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	while (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) < 0) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || clock_now() >= end) {
			close(lock);
			return -1;
		}
		nanosleep(&rest, NULL);
	}
	return lock;
}

void index_cache_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}

bool index_cache_read(const struct index_cache *cache, struct index *index)
{
	size_t size;
	void *block;

	if (cache->path[0] == '\0')
		return false;
	block = read_own(cache->path, &size);
	if (block == NULL)
		return false;
	if (index_adopt(index, block, size))
		return true;
	free(block);
	return false;
}

bool index_cache_load(const struct index_cache *cache,
		      const struct index_origin *origin, struct index *index)
{
	if (!index_cache_read(cache, index))
		return false;
	if (index_cache_fits(index, origin))
		return true;
	index_free(index);
	return false;
}

static bool index_cache_settled(const struct index *index, int64_t began_ns)
{
	for (uint32_t i = 0; i < index->head->folders; i++) {
		const struct index_stamp *stamp = &index->folders[i].stamp;

		if (stamp->modified_ns > began_ns - settled_ns ||
		    stamp->changed_ns > began_ns - settled_ns)
			return false;
	}
	return true;
}

/*
 * Creates the file to write into. Its name is always the same, so that a crash leaves
 * one behind at the most, and the next writer but one finds it abandoned.
 */
static int index_cache_create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat status;

	if (fd < 0 && errno == EEXIST && lstat(path, &status) == 0 &&
	    time(NULL) - status.st_mtime > ABANDONED_S)
		unlink(path);
	return fd;
}

void index_cache_save(const struct index_cache *cache, const struct index *index,
		      int64_t began_ns)
{
	if (index_cache_settled(index, began_ns))
		index_cache_keep(cache, index);
}

bool index_cache_drop(const struct index_cache *cache)
{
	return cache->path[0] != '\0' && unlink(cache->path) == 0;
}

void index_cache_keep(const struct index_cache *cache, const struct index *index)
{
	char path[PATH_MAX + 8];
	int fd, result;

	if (cache->path[0] == '\0')
		return;
	snprintf(path, sizeof(path), "%s.new", cache->path);
	fd = index_cache_create(path);
	if (fd < 0)
		return;
	result = io_write(fd, index->head, index_size(index));
	if (result == 0 && fsync(fd) < 0)
		result = -errno;
	if (close(fd) < 0 || result < 0 || rename(path, cache->path) < 0)
		unlink(path);
}
