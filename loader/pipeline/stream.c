/* stream.c - cuts the stream into batches and gives each place its sample. */
#include "loader/blob.h"
#include "loader/cache.h"
#include "loader/options.h"
#include "loader/pipeline/state.h"
#include "loader/sampler.h"

#include <errno.h>

/* Epochs of the probe stream lie where no training gets to. */
#define PROBE_EPOCH (UINT64_C(1) << 48)

uint32_t stream_slot(const struct pipeline *p, const struct batch *batch)
{
	return (uint32_t)(batch - p->batches);
}

bool stream_bad(const struct pipeline *p, uint32_t sample)
{
	return (p->bad[sample / 64] >> (sample % 64) & 1) != 0;
}

bool stream_ended(const struct pipeline *p)
{
	return p->length == 0 || p->next.epoch >= p->end_epoch;
}

uint32_t stream_probe(struct pipeline *p)
{
	uint32_t length = sampler_length(p->probe);
	uint64_t at = p->probed++;

	return sampler_sample(p->probe, PROBE_EPOCH + at / length,
			      (uint32_t)(at % length));
}

static void ready(struct batch *batch, struct place *place, struct blob *blob)
{
	place->blob = blob;
	place->state = PLACE_READY;
	batch->ready++;
}

static void wait_for_fetch(struct batch *batch, struct place *place)
{
	place->state = PLACE_WAITING;
	batch->waiting++;
}

static void hole(struct batch *batch, struct place *place)
{
	place->state = PLACE_HOLE;
	batch->holes++;
	batch->done++;
}

/* The staged bytes at this position of the stream, with a reference; NULL if none. */
static struct blob *staged_at(const struct pipeline *p, uint64_t epoch,
			      uint32_t position)
{
	uint64_t at = epoch * p->length + position - p->staged.first;

	if (at >= p->staged.count || p->staged.blobs[at] == NULL)
		return NULL;
	return blob_ref(p->staged.blobs[at]);
}

/* Gives a place the stream's sample at this position of its batch's epoch. */
void stream_supply(struct pipeline *p, struct batch *batch, struct place *place,
		   uint32_t position)
{
	struct blob *blob;

	place->sample = sampler_sample(p->sampler, batch->epoch, position);
	place->seed = random_seed(p->parts.options->seed, batch->epoch, place->sample);
	place->fetch_ns = 0;
	place->hit = false;
	if (stream_bad(p, place->sample)) {
		hole(batch, place);
		return;
	}
	if (p->turn.mode == PIPELINE_STAGED) {
		blob = staged_at(p, batch->epoch, position);
	} else {
		blob = cache_get(p->parts.cache, place->sample);
		place->hit = blob != NULL;
	}
	if (blob != NULL)
		ready(batch, place, blob);
	else
		wait_for_fetch(batch, place);
}

/* Gives a place staged bytes, over and over. False when none of them is any good. */
static bool supply_again(struct pipeline *p, struct batch *batch, struct place *place)
{
	for (uint32_t tries = 0; tries < p->staged.count; tries++) {
		uint32_t turn = p->cycle++, at = turn % p->staged.count;

		if (p->staged.blobs[at] == NULL || stream_bad(p, p->staged.samples[at]))
			continue;
		place->sample = p->staged.samples[at];
		place->seed = random_seed(p->parts.options->seed, turn, place->sample);
		place->fetch_ns = 0;
		place->hit = true;
		ready(batch, place, blob_ref(p->staged.blobs[at]));
		return true;
	}
	return false;
}

/* A place outside the stream: repeats, or draws of hits and misses. */
bool stream_supply_repeat(struct pipeline *p, struct batch *batch, struct place *place)
{
	uint32_t length = sampler_length(p->probe);

	if (p->turn.mode != PIPELINE_DRAWN || random_unit(&p->draw) < p->turn.hit)
		return supply_again(p, batch, place);
	for (uint32_t tries = 0; tries < length; tries++) {
		place->sample = stream_probe(p);
		if (stream_bad(p, place->sample))
			continue;
		place->seed = random_next(&p->draw);
		place->hit = false;
		wait_for_fetch(batch, place);
		return true;
	}
	return false;
}

/*
 * Ends with a slot's last batch. Delivered samples of the stream are offered to the
 * cache only now: what was read ahead and then put back leaves no trace in it.
 */
static void retire(struct pipeline *p, struct batch *batch)
{
	for (uint32_t i = 0; i < p->batch; i++) {
		struct place *place = &batch->places[i];

		if (place->blob == NULL)
			continue;
		if (batch->delivered && batch->stream && !place->hit)
			cache_offer(p->parts.cache, place->sample, place->blob);
		blob_put(place->blob);
		place->blob = NULL;
	}
	batch->delivered = false;
}

bool stream_fail(struct pipeline *p, int code, const char *reason)
{
	if (p->failure.code == 0)
		error_set(&p->failure, code, "%s", reason);
	ring_wake(p->parts.ring);
	return false;
}

/* Free slot, or RING_SLOTS. */
static uint32_t free_slot(struct pipeline *p)
{
	for (uint32_t i = 0; i < p->parts.slots; i++) {
		uint32_t slot = (p->slot_hint + i) % p->parts.slots;

		if (p->batches[slot].open || !ring_free(p->parts.ring, slot))
			continue;
		p->slot_hint = slot + 1;
		return slot;
	}
	return RING_SLOTS;
}

static void advance(const struct pipeline *p, struct cursor *cursor)
{
	if (++cursor->step < p->steps)
		return;
	cursor->epoch++;
	cursor->step = 0;
	cursor->stolen = 0;
}

/* The next batch of the stream, at its fixed positions. */
static void open_stream(struct pipeline *p, struct batch *batch)
{
	uint32_t first = (uint32_t)(p->next.step * p->batch);
	uint32_t stolen;

	if (p->open == 0 && p->next.epoch != p->head_epoch) {
		p->head_epoch = p->next.epoch;
		p->stolen = 0;
	}
	stolen = p->next.epoch == p->head_epoch ? p->stolen : 0;
	batch->stream = true;
	batch->epoch = p->next.epoch;
	batch->step = p->next.step;
	batch->first = first;
	batch->count = p->length - first < p->batch ? p->length - first : p->batch;
	for (uint32_t i = 0; i < batch->count; i++) {
		if (first + i < stolen)
			hole(batch, &batch->places[i]);
		else
			stream_supply(p, batch, &batch->places[i], first + i);
	}
	advance(p, &p->next);
}

static bool open_repeat(struct pipeline *p, struct batch *batch)
{
	batch->stream = false;
	batch->epoch = p->delivered.epoch;
	batch->step = p->delivered.step;
	batch->first = 0;
	batch->count = p->batch;
	for (uint32_t i = 0; i < batch->count; i++)
		if (!stream_supply_repeat(p, batch, &batch->places[i]))
			return stream_fail(
				p, EBADMSG,
				"none of the samples read ahead can be used");
	return true;
}

static bool wants_stream(const struct pipeline *p)
{
	uint64_t start = p->next.epoch * p->length + p->next.step * p->batch;
	const struct staged *staged = &p->staged;

	if (p->turn.mode == PIPELINE_STREAM)
		return true;
	return p->turn.mode == PIPELINE_STAGED && start >= staged->first &&
	       start + p->batch <= staged->first + staged->count && !stream_ended(p);
}

static bool may_open(const struct pipeline *p)
{
	if (!p->on || p->failure.code != 0 || p->turn.mode == PIPELINE_FETCH)
		return false;
	if (p->turn.mode == PIPELINE_STREAM)
		return !stream_ended(p);
	return !p->turn.metered || p->credits > 0;
}

bool stream_open(struct pipeline *p)
{
	bool opened = false;

	while (may_open(p)) {
		uint32_t slot = free_slot(p);
		struct batch *batch;

		if (slot == RING_SLOTS)
			break;
		batch = &p->batches[slot];
		retire(p, batch);
		batch->waiting = batch->ready = batch->done = batch->holes = 0;
		batch->failed_code = 0;
		if (wants_stream(p))
			open_stream(p, batch);
		else if (!open_repeat(p, batch))
			break;
		p->credits -= p->turn.metered;
		batch->open = true;
		p->fifo[(p->head + p->open++) % RING_SLOTS] = slot;
		p->kick |= batch->waiting > 0;
		opened = true;
		if (batch->done == batch->count) /* every sample known to be bad */
			finish_heads(p);
	}
	if (opened) {
		pthread_cond_broadcast(&p->work);
		pthread_cond_broadcast(&p->wanted);
	}
	return opened;
}

struct place *stream_oldest(struct pipeline *p, enum place_state state,
			    struct batch **found)
{
	for (uint32_t i = 0; i < p->open; i++) {
		struct batch *batch = &p->batches[p->fifo[(p->head + i) % RING_SLOTS]];
		uint32_t there = state == PLACE_READY ? batch->ready : batch->waiting;

		for (uint32_t j = 0; there > 0 && j < batch->count; j++) {
			if (batch->places[j].state != state)
				continue;
			*found = batch;
			return &batch->places[j];
		}
	}
	return NULL;
}

void stream_rewind(struct pipeline *p)
{
	for (uint32_t slot = 0; slot < p->parts.slots; slot++)
		p->batches[slot].open = false;
	p->open = 0;
	p->next = p->delivered;
	p->head_epoch = p->next.epoch;
	p->stolen = p->next.stolen;
}
