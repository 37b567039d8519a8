/* shards_ahead.c - a thread that faults in shards, in the order of the data set. */
#include "loader/local/shards_ahead.h"
#include "loader/base/host/cgroup.h"
#include "loader/base/host/procfs.h"
#include "loader/base/thread_pool.h"
#include "loader/source.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PIECE = 4 << 20,        /* that is mapped at once */
	PER_SAMPLE = 256 << 10, /* bytes in order that take as long as a random read */
	BETWEEN = 1 << 10,      /* bytes beside each sample: a tar's */
};

struct shards_ahead {
	const struct source *source;
	pthread_t thread;
	atomic_bool stopping;

	/* The thread's: the shard, and up to where it was read. */
	int fd; /* -1: none */
	uint64_t end;
	char path[PATH_MAX];
};

bool shards_ahead_pays(const struct source *source, uint64_t wanted, uint64_t room)
{
	const struct source_facts *facts = source_facts(source);
	uint64_t bytes = facts->bytes + (uint64_t)BETWEEN * facts->count;
	struct source_place place;
	char path[PATH_MAX];

	source_place(source, 0, path, &place);
	return place.path != NULL && place.part && bytes <= room / 2 &&
	       bytes / PER_SAMPLE <= wanted;
}

uint64_t shards_ahead_room(const char *root)
{
	struct cgroup cgroup;
	uint64_t kib = 0;
	char text[8192];

	cgroup_read(&cgroup, root);
	if (procfs_read(text, sizeof(text), root, "/proc/meminfo") > 0)
		procfs_value(text, "MemAvailable:", &kib);
	return kib * 1024 < cgroup.room_bytes ? kib * 1024 : cgroup.room_bytes;
}

static void shards_ahead_leave(struct shards_ahead *ahead)
{
	if (ahead->fd >= 0)
		close(ahead->fd);
	ahead->fd = -1;
	ahead->path[0] = '\0';
}

/* Whoever reads the sample says what is wrong with its shard. */
static void shards_ahead_enter(struct shards_ahead *ahead,
			       const struct source_place *place)
{
	shards_ahead_leave(ahead);
	strcpy(ahead->path, place->path);
	ahead->fd = openat(place->dir, place->path,
			   O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ahead->end = 0;
}

/* No system call that counts as a read: what the program reads is its own. */
static void shards_ahead_read(struct shards_ahead *ahead,
			      const struct source_place *place)
{
	if (ahead->end < place->offset)
		ahead->end = place->offset / PIECE * PIECE;
	while (ahead->fd >= 0 && !ahead->stopping &&
	       ahead->end < place->offset + place->size) {
		void *piece = mmap(NULL, PIECE, PROT_READ, MAP_SHARED | MAP_POPULATE,
				   ahead->fd, (off_t)ahead->end);

		if (piece == MAP_FAILED) {
			close(ahead->fd);
			ahead->fd = -1;
			return;
		}
		munmap(piece, PIECE);
		ahead->end += PIECE;
	}
}

static void *shards_ahead_run(void *argument)
{
	struct shards_ahead *ahead = argument;
	uint32_t count = source_count(ahead->source);
	struct source_place place;
	char path[PATH_MAX];

	pthread_setname_np(pthread_self(), "dsa-ahead");
	for (uint32_t i = 0; i < count && !ahead->stopping; i++) {
		source_place(ahead->source, i, path, &place);
		if (place.path == NULL || !place.part)
			continue;
		if (strcmp(place.path, ahead->path) != 0)
			shards_ahead_enter(ahead, &place);
		shards_ahead_read(ahead, &place);
	}
	shards_ahead_leave(ahead);
	return NULL;
}

struct shards_ahead *shards_ahead_start(const struct source *source)
{
	struct shards_ahead *ahead = calloc(1, sizeof(*ahead));

	if (ahead == NULL)
		return NULL;
	ahead->source = source;
	ahead->fd = -1;
	if (thread_start(&ahead->thread, shards_ahead_run, ahead) == 0)
		return ahead;
	free(ahead);
	return NULL;
}

void shards_ahead_stop(struct shards_ahead *ahead)
{
	if (ahead == NULL)
		return;
	ahead->stopping = true;
	pthread_join(ahead->thread, NULL);
	free(ahead);
}
