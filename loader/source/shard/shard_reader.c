/* shard_reader.c - a window that moves over an object, mostly ahead. */
#include "loader/source/shard/shard_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of files: what a disk reads while it would look for another place. */
enum { FILE_GAP = 64 << 10, FILE_LEAST = 4 << 10 };

static ssize_t shard_file_read(void *state, void *to, size_t size, uint64_t from)
{
	const int *fd = state;
	ssize_t got;

	do
		got = pread(*fd, to, size, (off_t)from);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static void shard_file_soon(void *state, uint64_t from, size_t size)
{
	const int *fd = state;

	posix_fadvise(*fd, (off_t)from, (off_t)size, POSIX_FADV_WILLNEED);
}

void shard_object_file(struct shard_object *object, const int *fd, uint64_t size)
{
	union {
		const int *given;
		void *state;
	} of = {.given = fd};

	*object = (struct shard_object){
		.state = of.state,
		.size = size,
		.gap = FILE_GAP,
		.least = FILE_LEAST,
		.read = shard_file_read,
		.soon = shard_file_soon,
	};
}

int shard_window_init(struct shard_window *window, const struct shard_object *object)
{
	*window = (struct shard_window){
		.object = object,
		.bytes = malloc(2 * (size_t)SHARD_MOST),
		.next = object->least,
	};
	return window->bytes != NULL ? 0 : -ENOMEM;
}

void shard_window_fini(struct shard_window *window)
{
	free(window->bytes);
}

/* Reads until there are `least` bytes more, at most `most`. */
static int shard_window_read(struct shard_window *window, size_t least, size_t most)
{
	size_t wanted = window->have + least;

	while (window->have < wanted) {
		ssize_t got = window->object->read(window->object->state,
						   window->bytes + window->have, most,
						   window->from + window->have);

		if (got <= 0)
			return got < 0 ? (int)got : -ENODATA;
		window->have += (size_t)got;
		most -= (size_t)got;
	}
	return 0;
}

/* Drops what lies before `at`, or all if the rest is not worth reading on to there. */
static void shard_window_move(struct shard_window *window, uint64_t at)
{
	uint64_t end = window->from + window->have;

	if (at >= window->from && at <= end) {
		size_t gone = (size_t)(at - window->from);

		memmove(window->bytes, window->bytes + gone, window->have - gone);
		window->from = at;
		window->have -= gone;
	} else if (at > end && at - end <= window->object->gap) {
		window->from = end;
		window->have = 0;
	} else {
		window->from = at;
		window->have = 0;
		window->next = window->object->least;
	}
}

static size_t shard_least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

const unsigned char *shard_window_get(struct shard_window *window, uint64_t at,
				      size_t size, int *result)
{
	uint64_t left;
	size_t lacking, most;

	if (at >= window->from && at - window->from <= window->have &&
	    size <= window->have - (at - window->from))
		return window->bytes + (at - window->from);
	*result = -ENODATA;
	if (at > window->object->size || size > window->object->size - at)
		return NULL;
	shard_window_move(window, at);
	lacking = (size_t)(at - window->from) + size - window->have;
	left = window->object->size - window->from - window->have;
	most = window->next > lacking ? window->next : lacking;
	if (most > left)
		most = (size_t)left;
	*result = shard_window_read(window, lacking, most);
	if (*result < 0)
		return NULL;
	if (window->object->soon != NULL && window->next == SHARD_MOST)
		window->object->soon(window->object->state, window->from + window->have,
				     SHARD_MOST);
	window->next = shard_least_of(2 * window->next, SHARD_MOST);
	return window->bytes + (at - window->from);
}
