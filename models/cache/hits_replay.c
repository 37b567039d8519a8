/*
 * hits_replay.c - the caches of several readers on the seeded stream itself.
 *
 * Each epoch is a permutation of all samples, dealt out to the readers in turn. Reads
 * are numbered through all epochs; nextuse knows for each the number of the next read
 * of that sample by that reader, and keeps those whose next is nearest (Belady, IBM
 * Systems Journal 1966), which may mean not to admit what was just read.
 */
#include "loader/base/error.h"
#include "loader/base/math/hits_cache.h"
#include "models/cache/hits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const uint32_t never = UINT32_MAX;

/* A reader comes back to a sample after `readers` epochs in the mean. What lies further
 * ahead than so many times that hardly matters; without it all would look unused. */
enum { FORESIGHT = 8 };

enum { LARGEST = 1 << 30 }; /* sample, bytes */

/* The held samples of a cache, the one used last of all on top. */
struct future {
	uint32_t count;
	uint32_t *heap;  /* samples */
	uint32_t *where; /* by sample: its place in the heap, if it is held */
	uint32_t *next;  /* by sample: when it is used next, if it is held */
};

struct replay {
	const struct hits_stream *stream;
	uint32_t capacity; /* of a cache, samples */
	uint64_t bytes;    /* of a sample */
	uint32_t *order;
	struct hits_cache **cache; /* all policies but nextuse */
	struct future *future;     /* nextuse: in place of the cache */
	uint32_t *next;            /* by read: that of the next of its sample there */
	uint64_t reads, local, remote;
};

static void hits_replay_place(struct future *future, uint32_t at, uint32_t sample)
{
	future->heap[at] = sample;
	future->where[sample] = at;
}

static void hits_replay_rise(struct future *future, uint32_t at, uint32_t sample)
{
	while (at > 0) {
		uint32_t above = future->heap[(at - 1) / 2];

		if (future->next[above] >= future->next[sample])
			break;
		hits_replay_place(future, at, above);
		at = (at - 1) / 2;
	}
	hits_replay_place(future, at, sample);
}

/* Puts the sample on top, in place of what is there. */
static void hits_replay_sink(struct future *future, uint32_t sample)
{
	uint64_t at = 0;

	for (uint64_t child = 1; child < future->count; child = 2 * at + 1) {
		if (child + 1 < future->count &&
		    future->next[future->heap[child + 1]] >
			    future->next[future->heap[child]])
			child++;
		if (future->next[sample] >= future->next[future->heap[child]])
			break;
		hits_replay_place(future, (uint32_t)at, future->heap[child]);
		at = child;
	}
	hits_replay_place(future, (uint32_t)at, sample);
}

static bool future_read(struct future *future, uint32_t capacity, uint32_t sample,
			uint32_t next)
{
	uint32_t at = future->where[sample];
	bool held = at < future->count && future->heap[at] == sample;

	future->next[sample] = next;
	if (held)
		hits_replay_rise(future, at, sample);
	else if (future->count < capacity)
		hits_replay_rise(future, future->count++, sample);
	else if (capacity > 0 && future->next[future->heap[0]] > next)
		hits_replay_sink(future, sample);
	return held;
}

static bool future_init(struct future *future, uint32_t samples)
{
	future->heap = calloc(samples, sizeof(*future->heap));
	future->where = calloc(samples, sizeof(*future->where));
	future->next = calloc(samples, sizeof(*future->next));
	return future->heap != NULL && future->where != NULL && future->next != NULL;
}

static void future_fini(struct future *future)
{
	free(future->heap);
	free(future->where);
	free(future->next);
}

/* Whose cache the sample at this position of an epoch is read through. */
static uint32_t hits_replay_owner(const struct hits_stream *stream, uint32_t position,
				  uint32_t sample)
{
	return (stream->partitioned ? sample : position) % stream->readers;
}

static uint32_t epochs_ahead(const struct hits_stream *stream)
{
	uint32_t ahead = stream->policy == CACHE_NEXTUSE ? FORESIGHT : 0;

	return stream->warm + stream->epochs + ahead * stream->readers;
}

/* From the end of the stream to its start. */
static int look_ahead(struct replay *replay)
{
	const struct hits_stream *stream = replay->stream;
	uint32_t samples = stream->samples, epoch = epochs_ahead(stream);
	uint32_t *seen = calloc((size_t)samples * stream->readers, sizeof(*seen));

	replay->next = calloc((size_t)samples * epoch, sizeof(*replay->next));
	if (seen == NULL || replay->next == NULL) {
		free(seen);
		return -ENOMEM;
	}
	for (size_t i = 0; i < (size_t)samples * stream->readers; i++)
		seen[i] = never;
	while (epoch-- > 0) {
		permutation_draw(replay->order, samples, stream->blocks, stream->seed,
				 epoch);
		for (uint32_t i = samples; i-- > 0;) {
			uint32_t sample = replay->order[i];
			size_t at =
				(size_t)hits_replay_owner(stream, i, sample) * samples +
				sample;

			replay->next[(size_t)epoch * samples + i] = seen[at];
			seen[at] = epoch * samples + i;
		}
	}
	free(seen);
	return 0;
}

static bool read_sample(struct replay *replay, uint32_t owner, uint32_t sample,
			size_t read)
{
	if (replay->future == NULL)
		return hits_cache_read(replay->cache[owner], sample, replay->bytes);
	return future_read(&replay->future[owner], replay->capacity, sample,
			   replay->next[read]);
}

static void run_epoch(struct replay *replay, uint32_t epoch)
{
	const struct hits_stream *stream = replay->stream;
	bool count = epoch >= stream->warm;

	permutation_draw(replay->order, stream->samples, stream->blocks, stream->seed,
			 epoch);
	for (uint32_t i = 0; i < stream->samples; i++) {
		uint32_t sample = replay->order[i],
			 home = hits_replay_owner(stream, i, sample);
		bool hit = read_sample(replay, home, sample,
				       (size_t)epoch * stream->samples + i);

		replay->reads += count;
		replay->local += count && hit && home == i % stream->readers;
		replay->remote += count && hit && home != i % stream->readers;
	}
}

static bool open_reader(struct replay *replay, uint32_t i)
{
	const struct hits_stream *stream = replay->stream;

	if (replay->future != NULL)
		return future_init(&replay->future[i], stream->samples);
	replay->cache[i] =
		hits_cache_new(stream->policy, stream->samples,
			       replay->capacity * replay->bytes, stream->seed + i);
	return replay->cache[i] != NULL;
}

static int open_readers(struct replay *replay)
{
	uint32_t readers = replay->stream->readers;
	bool ahead = replay->stream->policy == CACHE_NEXTUSE;

	if (ahead)
		replay->future = calloc(readers, sizeof(*replay->future));
	else
		replay->cache = calloc(readers, sizeof(*replay->cache));
	if (replay->future == NULL && replay->cache == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < readers; i++)
		if (!open_reader(replay, i))
			return -ENOMEM;
	return ahead ? look_ahead(replay) : 0;
}

static void replay_fini(struct replay *replay)
{
	for (uint32_t i = 0; i < replay->stream->readers; i++) {
		if (replay->cache != NULL)
			hits_cache_free(replay->cache[i]);
		if (replay->future != NULL)
			future_fini(&replay->future[i]);
	}
	free(replay->cache);
	free(replay->future);
	free(replay->next);
	free(replay->order);
}

static int hits_replay_check(const struct hits_stream *stream, struct error *err)
{
	if (stream->samples == 0 || stream->readers == 0 || stream->epochs == 0)
		return error_set(err, EINVAL,
				 "a replay needs samples, readers and epochs");
	if (!(stream->x >= 0 && stream->x <= 1))
		return error_set(err, EINVAL, "a cache of %g of the data set, not 0..1",
				 stream->x);
	if ((unsigned)stream->policy >= CACHE_IDS)
		return error_set(err, EINVAL, "no cache policy of number %d",
				 (int)stream->policy);
	if (stream->policy == CACHE_PAGE &&
	    (stream->sample_bytes == 0 || stream->sample_bytes > LARGEST))
		return error_set(err, EINVAL,
				 "a replay of the page cache needs the size "
				 "of samples, up to 1 GiB");
	if ((double)stream->samples * ((double)stream->warm + stream->epochs +
				       (double)FORESIGHT * stream->readers) >=
	    (double)never)
		return error_set(err, EINVAL, "%u samples are too many to replay",
				 stream->samples);
	return 0;
}

int hits_replay(const struct hits_stream *stream, struct hits_ratio *ratio,
		struct error *err)
{
	struct replay replay = {.stream = stream};
	int rc = hits_replay_check(stream, err);

	if (rc < 0)
		return rc;
	replay.bytes = stream->policy == CACHE_PAGE ? stream->sample_bytes : 1;
	replay.capacity = (uint32_t)lround(stream->x * stream->samples);
	replay.order = calloc(stream->samples, sizeof(*replay.order));
	rc = replay.order == NULL ? -ENOMEM : open_readers(&replay);
	for (uint32_t i = 0; rc == 0 && i < stream->warm + stream->epochs; i++)
		run_epoch(&replay, i);
	if (rc == 0) {
		double reads = (double)replay.reads;

		ratio->local = (double)replay.local / reads;
		ratio->remote = (double)replay.remote / reads;
		ratio->all = ratio->local + ratio->remote;
	} else {
		error_sys(err, ENOMEM, "cannot replay %u readers", stream->readers);
	}
	replay_fini(&replay);
	return rc;
}
