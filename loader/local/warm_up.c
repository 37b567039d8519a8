/* warm_up.c - a thread that faults in shards, in the order of the data set. */
#include "loader/local/warm_up.h"
#include "loader/base/host/cgroup.h"
#include "loader/base/thread_pool.h"
#include "loader/source.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PIECE = 4 << 20,        /* that is mapped at once */
	PER_SAMPLE = 256 << 10, /* bytes read in order for each one that is wanted */
	BETWEEN = 1 << 10,      /* bytes beside each sample: a tar's */
};

struct warm_up {
	const struct source *source;
	pthread_t thread;
	atomic_bool stopping;

	/* The thread's: the shard, and up to where it was read. */
	int fd; /* -1: none */
	uint64_t end;
	char path[PATH_MAX];
};

bool warm_up_pays(const struct source *source, uint64_t wanted, uint64_t room)
{
	const struct source_facts *facts = source_facts(source);
	uint64_t bytes = facts->bytes + (uint64_t)BETWEEN * facts->count;
	struct source_place place;
	char path[PATH_MAX];

	source_place(source, 0, path, &place);
	return place.path != NULL && place.part && bytes <= room / 2 &&
	       bytes / PER_SAMPLE <= wanted;
}

uint64_t warm_up_room(const char *root)
{
	uint64_t available = cgroup_memory_available(root);

	return available != UINT64_MAX ? available : 0;
}

static void warm_up_leave(struct warm_up *warm)
{
	if (warm->fd >= 0)
		close(warm->fd);
	warm->fd = -1;
	warm->path[0] = '\0';
}

/* Whoever reads the sample says what is wrong with its shard. */
static void warm_up_enter(struct warm_up *warm, const struct source_place *place)
{
	warm_up_leave(warm);
	snprintf(warm->path, sizeof(warm->path), "%s", place->path);
	warm->fd = openat(place->dir, place->path,
			  O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	warm->end = 0;
}

/* No system call that counts as a read: what the program reads is its own. What is not open,
 * or can't be mapped, is passed over. */
static void warm_up_read(struct warm_up *warm, const struct source_place *place)
{
	if (warm->end < place->offset)
		warm->end = place->offset / PIECE * PIECE;
	while (!warm->stopping && warm->end < place->offset + place->size) {
		void *piece = mmap(NULL, PIECE, PROT_READ, MAP_SHARED | MAP_POPULATE,
				   warm->fd, (off_t)warm->end);

		if (piece != MAP_FAILED)
			munmap(piece, PIECE);
		warm->end += PIECE;
	}
}

static void *warm_up_run(void *argument)
{
	struct warm_up *warm = argument;
	uint32_t count = source_count(warm->source);
	struct source_place place;
	char path[PATH_MAX];

	pthread_setname_np(pthread_self(), "dsa-warm-up");
	for (uint32_t i = 0; i < count && !warm->stopping; i++) {
		source_place(warm->source, i, path, &place);
		if (place.path == NULL || !place.part)
			continue;
		if (strcmp(place.path, warm->path) != 0)
			warm_up_enter(warm, &place);
		warm_up_read(warm, &place);
	}
	warm_up_leave(warm);
	return NULL;
}

struct warm_up *warm_up_start(const struct source *source)
{
	struct warm_up *warm = calloc(1, sizeof(*warm));

	if (warm == NULL)
		return NULL;
	warm->source = source;
	warm->fd = -1;
	if (thread_start(&warm->thread, warm_up_run, warm) == 0)
		return warm;
	free(warm);
	return NULL;
}

void warm_up_stop(struct warm_up *warm)
{
	if (warm == NULL)
		return;
	warm->stopping = true;
	pthread_join(warm->thread, NULL);
	free(warm);
}
