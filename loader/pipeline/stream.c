/* stream.c - cuts the stream into batches and puts finished ones into the ring. */
#include "loader/base/name.h"
#include "loader/base/trace.h"
#include "loader/blob.h"
#include "loader/cache.h"
#include "loader/options.h"
#include "loader/pipeline/state.h"
#include "loader/prep.h"
#include "loader/sampler.h"
#include "loader/source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Epochs of the probe stream lie where no training gets to. */
#define PROBE_EPOCH (UINT64_C(1) << 48)

uint32_t stream_slot(const struct pipeline *p, const struct batch *batch)
{
	return (uint32_t)(batch - p->batches);
}

static bool is_bad(const struct pipeline *p, uint32_t sample)
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
static void supply(struct pipeline *p, struct batch *batch, struct place *place,
		   uint32_t position)
{
	struct blob *blob;

	place->sample = sampler_sample(p->sampler, batch->epoch, position);
	place->seed = random_seed(p->parts.options->seed, batch->epoch, place->sample);
	place->fetch_ns = 0;
	place->hit = false;
	if (is_bad(p, place->sample)) {
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
		uint32_t at = p->cycle++ % p->staged.count;

		if (p->staged.blobs[at] == NULL || is_bad(p, p->staged.samples[at]))
			continue;
		place->sample = p->staged.samples[at];
		place->seed = random_next(&p->draw);
		place->fetch_ns = 0;
		place->hit = true;
		ready(batch, place, blob_ref(p->staged.blobs[at]));
		return true;
	}
	return false;
}

/* A place outside the stream: repeats, or draws of hits and misses. */
static bool supply_repeat(struct pipeline *p, struct batch *batch, struct place *place)
{
	uint32_t length = sampler_length(p->probe);

	if (p->turn.mode != PIPELINE_DRAWN || random_unit(&p->draw) < p->turn.hit)
		return supply_again(p, batch, place);
	for (uint32_t tries = 0; tries < length; tries++) {
		place->sample = stream_probe(p);
		if (is_bad(p, place->sample))
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

static bool fail(struct pipeline *p, int code, const char *reason)
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
			supply(p, batch, &batch->places[i], first + i);
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
		if (!supply_repeat(p, batch, &batch->places[i]))
			return fail(p, EBADMSG,
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

static void finish_heads(struct pipeline *p);

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

/* The open batch of the head's epoch that owns a position; NULL if it is not open. */
static struct batch *owner(struct pipeline *p, const struct batch *head,
			   uint32_t position)
{
	uint64_t ahead = position / p->batch - head->step;
	struct batch *batch;

	if (ahead >= p->open)
		return NULL;
	batch = &p->batches[p->fifo[(p->head + ahead) % RING_SLOTS]];
	return batch->stream && batch->epoch == head->epoch ? batch : NULL;
}

static void move_sample(struct pipeline *p, struct batch *to, uint32_t at,
			struct batch *from, uint32_t index)
{
	struct place *place = &to->places[at], *donor = &from->places[index];
	struct ring *ring = p->parts.ring;

	blob_put(place->blob);
	*place = *donor;
	donor->blob = NULL;
	memcpy(ring_sample(ring, stream_slot(p, to), at),
	       ring_sample(ring, stream_slot(p, from), index),
	       prep_sample_bytes(p->parts.prep));
}

/*
 * Fills one hole of the oldest batch with the next position nobody used. Returns false
 * when that sample must be waited for.
 */
static bool fill_hole(struct pipeline *p, struct batch *head, uint32_t at)
{
	uint32_t end = head->first + p->batch;
	struct place *place = &head->places[at];

	for (;;) {
		uint32_t donor = p->stolen > end ? p->stolen : end;
		struct batch *from;
		struct place *other;

		if (donor >= p->length)
			return true; /* the epoch has no more: it stays a hole */
		from = owner(p, head, donor);
		if (from == NULL) {
			p->stolen = donor + 1;
			head->holes--;
			head->done--;
			blob_put(place->blob);
			place->blob = NULL;
			supply(p, head, place, donor);
			p->kick = true;
			pthread_cond_broadcast(&p->wanted);
			pthread_cond_broadcast(&p->work);
			if (place->state == PLACE_HOLE)
				continue;
			return false;
		}
		other = &from->places[donor - from->first];
		if (other->state != PLACE_DONE && other->state != PLACE_HOLE)
			return false;
		p->stolen = donor + 1;
		if (other->state == PLACE_HOLE)
			continue;
		move_sample(p, head, at, from, donor - from->first);
		head->holes--;
		other->state = PLACE_HOLE;
		from->holes++;
		return true;
	}
}

/* Closes the holes that nothing is left to fill. */
static void compact(struct pipeline *p, struct batch *batch)
{
	uint32_t good = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		if (batch->places[i].state == PLACE_HOLE) {
			blob_put(batch->places[i].blob);
			batch->places[i].blob = NULL;
			continue;
		}
		if (good != i)
			move_sample(p, batch, good, batch, i);
		good++;
	}
	batch->count = batch->done = good;
	batch->holes = 0;
}

/* A repeat has no next position: any other staged sample does. */
static bool fill_repeat(struct pipeline *p, struct batch *head, struct place *place)
{
	head->holes--;
	head->done--;
	blob_put(place->blob);
	place->blob = NULL;
	if (!supply_repeat(p, head, place))
		return fail(p, EBADMSG, "none of the samples read ahead can be used");
	p->kick = true;
	pthread_cond_broadcast(&p->wanted);
	pthread_cond_broadcast(&p->work);
	return false;
}

static bool fill_holes(struct pipeline *p, struct batch *head)
{
	for (uint32_t i = 0; head->holes > 0 && i < head->count; i++) {
		if (head->places[i].state != PLACE_HOLE)
			continue;
		if (head->stream ? !fill_hole(p, head, i)
				 : !fill_repeat(p, head, &head->places[i]))
			return false;
	}
	if (head->holes > 0)
		compact(p, head);
	return true;
}

static void publish(struct pipeline *p, struct batch *batch)
{
	uint32_t slot = stream_slot(p, batch);
	struct ring *ring = p->parts.ring;
	struct ring_batch *shared = ring_batch(ring, slot);
	uint32_t *labels = ring_labels(ring, slot), *samples = ring_samples(ring, slot);

	for (uint32_t i = 0; i < batch->count; i++) {
		samples[i] = batch->places[i].sample;
		labels[i] = source_label(p->parts.source, samples[i]);
	}
	shared->epoch = batch->epoch;
	shared->step = batch->step;
	shared->count = batch->count;
	shared->repeated = !batch->stream;
	batch->stolen = p->stolen;
	ring_publish(ring, slot);
}

/* False: an epoch's short rest that the program does not want, or nothing at all. */
static bool wanted(struct pipeline *p, const struct batch *batch)
{
	if (batch->count == 0 && ++p->barren > p->steps)
		return fail(p, EBADMSG,
			    "no sample of a whole epoch could be read and decoded");
	if (batch->count == 0)
		return false;
	p->barren = 0;
	return !p->parts.options->drop_last || batch->count == p->batch;
}

/* Publishes the oldest batches as far as they are finished. */
static void finish_heads(struct pipeline *p)
{
	while (p->open > 0 && p->failure.code == 0) {
		struct batch *head = &p->batches[p->fifo[p->head]];

		if (head->done < head->count)
			return;
		if (head->stream && head->epoch != p->head_epoch) {
			p->head_epoch = head->epoch;
			p->stolen = 0;
		}
		if (head->holes > 0 && !fill_holes(p, head))
			return;
		head->open = false;
		p->head = (p->head + 1) % RING_SLOTS;
		p->open--;
		if (p->turn.mode != PIPELINE_PREP && wanted(p, head))
			publish(p, head);
		else /* its slot is free again */
			pthread_cond_broadcast(&p->work);
	}
	if (p->open == 0 && stream_ended(p))
		ring_wake(p->parts.ring);
}

static void mark_bad(struct pipeline *p, uint32_t sample, int code, const char *reason)
{
	if (is_bad(p, sample))
		return;
	p->bad[sample / 64] |= UINT64_C(1) << (sample % 64);
	trace_add(p->parts.process, TRACE_skipped_samples, 1);
	if (p->tell != NULL)
		p->tell(p->tell_context, sample, code, reason);
}

/* --on-error=fail: the first sample that can't be used ends the data. */
static void fail_at(struct pipeline *p, uint32_t sample, int code, const char *reason)
{
	char path[PATH_MAX], name[NAME_SHOWN], text[sizeof(p->failure.message)];
	struct source_place where;

	source_place(p->parts.source, sample, path, &where);
	name_escape(where.path != NULL ? where.path : "a sample in memory", name,
		    sizeof(name));
	snprintf(text, sizeof(text), "%s: %.120s", name, reason);
	fail(p, code, text);
}

void stream_finish(struct pipeline *p, struct batch *batch, struct place *place,
		   int code, const char *reason)
{
	batch->done++;
	place->state = PLACE_DONE;
	if (code != 0) {
		mark_bad(p, place->sample, code, reason);
		batch->holes++;
		place->state = PLACE_HOLE;
		if (p->parts.options->fail)
			fail_at(p, place->sample, code, reason);
	}
	if (batch->done == batch->count)
		finish_heads(p);
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
