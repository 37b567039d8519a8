/* shared_epoch_state.c - a shared epoch as bytes, and back: they may come from anybody. */
#include "loader/share/schedule/shared_epoch_state.h"
#include "loader/base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* head | parts | laps | stream of these laps, u32 | part of each sample, u8 */
struct head {
	char magic[8];
	uint64_t seed;
	uint64_t laid; /* of these, the last `laps` follow */
	uint32_t laps, at;
	uint32_t count, in_order;
};

static const char magic[8] = "dsacrs1";

/* Numbers that count laps, epochs and positions: no sum of two overflows. */
#define MOST (UINT64_MAX >> 2)

size_t shared_epoch_state_bytes(const struct shared_epoch_config *config)
{
	return sizeof(struct head) +
	       SHARED_EPOCH_ENTRIES * sizeof(struct shared_epoch_part) +
	       SHARED_EPOCH_LAPS * sizeof(struct shared_epoch_lap) +
	       shared_epoch_room(config) * sizeof(uint32_t) + config->count;
}

static const struct shared_epoch_lap *lap_of(const struct shared_epoch *shared,
					     uint64_t lap)
{
	return &shared->laps[lap % SHARED_EPOCH_LAPS];
}

static uint64_t shared_epoch_state_positions(const struct shared_epoch *shared,
					     uint64_t lap)
{
	uint64_t total = 0;

	for (; lap < shared->laid; lap++)
		total += lap_of(shared, lap)->length;
	return total;
}

/* The first lap to save: the newest at least, and none whose positions are not kept. */
static uint64_t first_kept(const struct shared_epoch *shared, uint64_t lap)
{
	uint64_t oldest =
		shared->laid > SHARED_EPOCH_LAPS ? shared->laid - SHARED_EPOCH_LAPS : 0;

	if (lap >= shared->laid)
		lap = shared->laid - 1;
	if (lap < oldest)
		lap = oldest;
	while (shared_epoch_state_positions(shared, lap) > shared->room)
		lap++;
	return lap;
}

static unsigned char *shared_epoch_state_put(unsigned char *to, const void *bytes,
					     size_t count)
{
	memcpy(to, bytes, count);
	return to + count;
}

/* A run of positions, which may go round the ring's end. */
static unsigned char *put_stream(unsigned char *to, const struct shared_epoch *shared,
				 uint64_t first, uint64_t count)
{
	uint64_t at = first % shared->room, run = shared->room - at;

	if (run > count)
		run = count;
	to = shared_epoch_state_put(to, shared->stream + at, run * sizeof(uint32_t));
	return shared_epoch_state_put(to, shared->stream,
				      (count - run) * sizeof(uint32_t));
}

size_t shared_epoch_save(const struct shared_epoch *shared, uint64_t lap, void *state)
{
	const struct shared_epoch_config *config = &shared->config;
	struct head head = {.seed = config->seed,
			    .laid = shared->laid,
			    .at = shared->at,
			    .count = config->count,
			    .in_order = config->in_order};
	unsigned char *to = state;

	lap = shared->laid > 0 ? first_kept(shared, lap) : 0;
	memcpy(head.magic, magic, sizeof(magic));
	head.laps = (uint32_t)(shared->laid - lap);
	to = shared_epoch_state_put(to, &head, sizeof(head));
	to = shared_epoch_state_put(to, shared->parts, sizeof(shared->parts));
	for (uint64_t i = lap; i < shared->laid; i++)
		to = shared_epoch_state_put(to, lap_of(shared, i),
					    sizeof(struct shared_epoch_lap));
	if (head.laps > 0)
		to = put_stream(to, shared, lap_of(shared, lap)->first,
				shared_epoch_state_positions(shared, lap));
	to = shared_epoch_state_put(to, shared->part_of, config->count);
	return (size_t)(to - (unsigned char *)state);
}

/* ---- back ---- */

struct reader {
	const unsigned char *at;
	size_t left;
};

static bool shared_epoch_state_get(struct reader *reader, void *to, size_t bytes)
{
	if (bytes > reader->left)
		return false;
	memcpy(to, reader->at, bytes);
	reader->at += bytes;
	reader->left -= bytes;
	return true;
}

static bool get_head(struct reader *reader, struct shared_epoch *shared, uint32_t *laps)
{
	const struct shared_epoch_config *config = &shared->config;
	struct head head;

	if (!shared_epoch_state_get(reader, &head, sizeof(head)) ||
	    memcmp(head.magic, magic, sizeof(magic)) != 0 ||
	    head.seed != config->seed || head.count != config->count ||
	    head.in_order != config->in_order)
		return false;
	shared->laid = head.laid;
	shared->at = head.at;
	*laps = head.laps;
	return head.laid <= MOST && head.at < SHARED_EPOCH_ENTRIES &&
	       head.laps <= head.laid && head.laps <= SHARED_EPOCH_LAPS &&
	       (head.laps > 0 || head.laid == 0);
}

static bool part_fits(const struct shared_epoch *shared,
		      const struct shared_epoch_part *part)
{
	if (part->live == 0)
		return true;
	return part->live == 1 && part->next < SHARED_EPOCH_ENTRIES &&
	       part->length > 0 && part->length <= shared->config.count &&
	       part->owners <= SHARED_EPOCH_ENTRIES && part->epoch <= MOST &&
	       (part->began <= shared->laid || part->began == UINT64_MAX);
}

/* They are one circle, and what is in them makes up the data set. */
static bool parts_fit(const struct shared_epoch *shared)
{
	uint64_t total = 0;
	unsigned live = shared_epoch_parts(shared), at = shared->at;

	for (unsigned i = 0; i < SHARED_EPOCH_ENTRIES; i++)
		if (!part_fits(shared, &shared->parts[i]))
			return false;
	for (unsigned i = 0; i < live; i++) {
		if (shared->parts[at].live == 0)
			return false;
		total += shared->parts[at].length;
		at = shared->parts[at].next;
		if (at == shared->at && i + 1 < live)
			return false;
	}
	return live > 0 && at == shared->at && total == shared->config.count;
}

static bool samples_fit(const struct shared_epoch *shared)
{
	uint32_t lengths[SHARED_EPOCH_ENTRIES] = {0};

	for (uint32_t i = 0; i < shared->config.count; i++) {
		if (shared->part_of[i] >= SHARED_EPOCH_ENTRIES)
			return false;
		lengths[shared->part_of[i]]++;
	}
	for (unsigned i = 0; i < SHARED_EPOCH_ENTRIES; i++)
		if (lengths[i] != shared->parts[i].length)
			return false;
	return true;
}

static bool get_laps(struct reader *reader, struct shared_epoch *shared, uint64_t lap)
{
	uint64_t first = 0, total = 0;

	for (uint64_t i = lap; i < shared->laid; i++) {
		struct shared_epoch_lap *to = &shared->laps[i % SHARED_EPOCH_LAPS];

		if (!shared_epoch_state_get(reader, to, sizeof(*to)) ||
		    to->entry >= SHARED_EPOCH_ENTRIES ||
		    to->length > shared->config.count || to->first > MOST ||
		    to->epoch > MOST || (i > lap && to->first != first))
			return false;
		first = to->first + to->length;
		total += to->length;
	}
	return total <= shared->room;
}

/* `seen`: of each sample the last lap that it is in, counted from 1. */
static bool get_order(struct reader *reader, struct shared_epoch *shared, uint64_t lap,
		      uint32_t mark, uint32_t *seen)
{
	const struct shared_epoch_lap *at = lap_of(shared, lap);

	for (uint32_t i = 0; i < at->length; i++) {
		uint32_t sample;

		if (!shared_epoch_state_get(reader, &sample, sizeof(sample)) ||
		    sample >= shared->config.count || seen[sample] == mark)
			return false;
		seen[sample] = mark;
		shared->stream[(at->first + i) % shared->room] = sample;
	}
	return true;
}

static bool get_stream(struct reader *reader, struct shared_epoch *shared, uint64_t lap)
{
	uint32_t mark = 0;
	bool fits = true;

	for (; fits && lap < shared->laid; lap++)
		fits = get_order(reader, shared, lap, ++mark, shared->row);
	return fits;
}

/* The newest lap may be cut yet: it is its part, all of it. */
static bool newest_fits(const struct shared_epoch *shared)
{
	const struct shared_epoch_lap *lap = lap_of(shared, shared->laid - 1);
	const struct shared_epoch_part *part = &shared->parts[lap->entry];

	if (part->live == 0)
		return false;
	if (lap->length == 0)
		return true;
	for (uint32_t i = 0; i < lap->length; i++)
		if (shared->part_of[shared->stream[(lap->first + i) % shared->room]] !=
		    lap->entry)
			return false;
	return lap->length == part->length && part->next == shared->at &&
	       part->epoch > lap->epoch;
}

static bool get_all(struct reader *reader, struct shared_epoch *shared)
{
	uint32_t laps;

	return get_head(reader, shared, &laps) &&
	       shared_epoch_state_get(reader, shared->parts, sizeof(shared->parts)) &&
	       parts_fit(shared) && get_laps(reader, shared, shared->laid - laps) &&
	       get_stream(reader, shared, shared->laid - laps) &&
	       shared_epoch_state_get(reader, shared->part_of, shared->config.count) &&
	       samples_fit(shared) && (laps == 0 || newest_fits(shared)) &&
	       reader->left == 0;
}

struct shared_epoch *shared_epoch_load(const struct shared_epoch_config *config,
				       const void *state, size_t bytes,
				       struct error *err)
{
	struct reader reader = {state, bytes};
	struct shared_epoch *shared = shared_epoch_blank(config, err);

	if (shared == NULL)
		return NULL;
	if (get_all(&reader, shared))
		return shared;
	shared_epoch_close(shared);
	error_set(err, EBADMSG,
		  "what the loader before left is of another data set, or damaged");
	return NULL;
}
