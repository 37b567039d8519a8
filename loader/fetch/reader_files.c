/* reader_files.c - finds open files by folder and path; what was added stays. */
#include "loader/fetch/reader_files.h"
#include "loader/source.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { MOST = 1024, SLOTS = 2 * MOST, SHARE = 4 };

struct reader_file {
	int dir, fd;
	char path[];
};

struct reader_files {
	int flags;
	pthread_mutex_t lock; /* of who adds one */
	unsigned most;
	atomic_uint count;
	_Atomic(struct reader_file *)
		slots[SLOTS]; /* the first free one ends a search */
};

struct reader_files *reader_files_new(int flags)
{
	struct reader_files *files = calloc(1, sizeof(*files));
	struct rlimit limit;

	if (files == NULL)
		return NULL;
	files->flags = flags;
	files->most = MOST;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / SHARE < MOST)
		files->most = (unsigned)(limit.rlim_cur / SHARE);
	pthread_mutex_init(&files->lock, NULL);
	return files;
}

void reader_files_free(struct reader_files *files)
{
	if (files == NULL)
		return;
	for (unsigned i = 0; i < SLOTS; i++) {
		if (files->slots[i] != NULL)
			close(files->slots[i]->fd);
		free(files->slots[i]);
	}
	pthread_mutex_destroy(&files->lock);
	free(files);
}

/* Its slot, or the free one where it would be. */
static unsigned reader_files_find(const struct reader_files *files,
				  const struct source_place *place,
				  struct reader_file **found)
{
	size_t length = strlen(place->path);
	unsigned at = (unsigned)(XXH3_64bits(place->path, length) % SLOTS);

	for (;; at = (at + 1) % SLOTS) {
		*found = atomic_load_explicit(&files->slots[at], memory_order_acquire);
		if (*found == NULL || ((*found)->dir == place->dir &&
				       strcmp((*found)->path, place->path) == 0))
			return at;
	}
}

/* With the lock held; another thread may have been faster. */
static struct reader_file *reader_files_add(struct reader_files *files,
					    const struct source_place *place)
{
	struct reader_file *file;
	unsigned at = reader_files_find(files, place, &file);

	if (file != NULL || files->count == files->most)
		return file;
	file = malloc(sizeof(*file) + strlen(place->path) + 1);
	if (file == NULL)
		return NULL;
	file->fd = openat(place->dir, place->path, files->flags);
	if (file->fd < 0) {
		free(file);
		return NULL;
	}
	file->dir = place->dir;
	strcpy(file->path, place->path);
	files->count++;
	atomic_store_explicit(&files->slots[at], file, memory_order_release);
	return file;
}

int reader_files_get(struct reader_files *files, const struct source_place *place)
{
	struct reader_file *file;

	if (files == NULL || !place->part)
		return -1;
	reader_files_find(files, place, &file);
	if (file == NULL && files->count < files->most) {
		pthread_mutex_lock(&files->lock);
		file = reader_files_add(files, place);
		pthread_mutex_unlock(&files->lock);
	}
	return file != NULL ? file->fd : -1;
}

bool reader_files_replaced(const struct reader_files *files,
			   const struct source_place *place)
{
	struct stat open_one, there;
	struct reader_file *file;

	if (!place->part)
		return false;
	reader_files_find(files, place, &file);
	return file != NULL &&
	       (fstat(file->fd, &open_one) < 0 ||
		fstatat(place->dir, place->path, &there, 0) < 0 ||
		open_one.st_ino != there.st_ino || open_one.st_dev != there.st_dev);
}
