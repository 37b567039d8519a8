/* shard_reader.c - a window that moves over an object, mostly ahead. */
#include "loader/source/shard/shard_reader.h"
#include "loader/source/shard/shard_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of files: what a disk reads while it would look for another place; and bytes that it is
 * asked for beyond a large read, so that it goes on while nobody asks for more. */
enum { FILE_GAP = 64 << 10, FILE_LEAST = 4 << 10, FILE_AHEAD = 4 << 20 };

enum { ROOM = 2 * SHARD_MOST };

static ssize_t shard_file_read(void *state, void *to, size_t size, uint64_t from)
{
	const int *fd = state;
	ssize_t got;

	if (size == SHARD_MOST)
		posix_fadvise(*fd, (off_t)(from + size), FILE_AHEAD,
			      POSIX_FADV_WILLNEED);
	do
		got = pread(*fd, to, size, (off_t)from);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
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
		.ahead = true,
	};
}

int shard_window_init(struct shard_window *window, const struct shard_object *object)
{
	*window = (struct shard_window){
		.object = object,
		.room = {malloc(ROOM)},
		.next = object->least,
	};
	window->bytes = window->room[0];
	return window->bytes != NULL ? 0 : -ENOMEM;
}

void shard_window_fini(struct shard_window *window)
{
	shard_ahead_free(window->ahead);
	free(window->room[0]);
	free(window->room[1]);
}

/* ---- ahead ---- */

/* Where there is no memory or thread for it, nothing is read ahead. */
static bool shard_window_can_ahead(struct shard_window *window)
{
	if (!window->object->ahead || window->next < SHARD_MOST)
		return false;
	if (window->room[1] == NULL)
		window->room[1] = malloc(ROOM);
	if (window->ahead == NULL && window->room[1] != NULL)
		window->ahead = shard_ahead_new(window->object);
	return window->ahead != NULL;
}

/* What follows the bytes that are here. */
static void shard_window_begin(struct shard_window *window)
{
	const struct shard_object *object = window->object;
	uint64_t from = window->from + window->have, left = object->size - from;

	if (left == 0 || !shard_window_can_ahead(window))
		return;
	shard_ahead_begin(window->ahead, window->room[!window->half] + SHARD_MOST, from,
			  left < SHARD_MOST ? (size_t)left : SHARD_MOST);
	window->pending = true;
}

/* Goes on in the other room if what was read ahead holds the rest of what is wanted. What
 * was not read is read again, and then says why. */
static bool shard_window_turn(struct shard_window *window, uint64_t at, size_t size)
{
	uint64_t end = window->from + window->have;
	unsigned char *data;
	size_t left;
	ssize_t got;

	if (!window->pending)
		return false;
	data = window->room[!window->half] + SHARD_MOST;
	got = shard_ahead_end(window->ahead);
	window->pending = false;
	if (got <= 0 || at < window->from || at > end + (size_t)got ||
	    size > end + (size_t)got - at)
		return false;
	left = at < end ? (size_t)(end - at) : 0;
	memcpy(data - left, window->bytes + (window->have - left), left);
	window->half = !window->half;
	window->bytes = data - left;
	window->from = end - left;
	window->have = left + (size_t)got;
	return true;
}

/* ---- in place ---- */

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
	const unsigned char *bytes = window->bytes;
	uint64_t end = window->from + window->have;

	window->bytes = window->room[window->half];
	if (at >= window->from && at <= end) {
		size_t gone = (size_t)(at - window->from);

		memmove(window->bytes, bytes + gone, window->have - gone);
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
	if (shard_window_turn(window, at, size)) {
		shard_window_begin(window);
		return window->bytes + (at - window->from);
	}
	shard_window_move(window, at);
	lacking = (size_t)(at - window->from) + size - window->have;
	left = window->object->size - window->from - window->have;
	most = window->next > lacking ? window->next : lacking;
	if (most > left)
		most = (size_t)left;
	*result = shard_window_read(window, lacking, most);
	if (*result < 0)
		return NULL;
	shard_window_begin(window);
	window->next = shard_least_of(2 * window->next, SHARD_MOST);
	return window->bytes + (at - window->from);
}
