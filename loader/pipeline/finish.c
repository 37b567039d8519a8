/* finish.c - puts finished batches into the ring, whole and in order. */
#include "loader/base/name.h"
#include "loader/base/trace.h"
#include "loader/blob.h"
#include "loader/options.h"
#include "loader/pipeline/state.h"
#include "loader/prep.h"
#include "loader/source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

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
			stream_supply(p, head, place, donor);
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
	if (!stream_supply_repeat(p, head, place))
		return stream_fail(p, EBADMSG,
				   "none of the samples read ahead can be used");
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
		return stream_fail(
			p, EBADMSG,
			"no sample of a whole epoch could be read and decoded");
	if (batch->count == 0)
		return false;
	p->barren = 0;
	return !p->parts.options->drop_last || batch->count == p->batch;
}

static void mark_bad(struct pipeline *p, uint32_t sample, int code, const char *reason)
{
	if (stream_bad(p, sample))
		return;
	p->bad[sample / 64] |= UINT64_C(1) << (sample % 64);
	trace_add(p->parts.process, TRACE_skipped_samples, 1);
	if (p->tell != NULL)
		p->tell(p->tell_context, sample, code, reason);
}

/* --on-error=fail: the first sample of the stream that can't be used ends the data,
 * whichever was found first. */
static void note_failure(struct batch *batch, const struct place *place, int code,
			 const char *reason)
{
	uint32_t at = (uint32_t)(place - batch->places);

	if (batch->failed_code != 0 && batch->failed < at)
		return;
	batch->failed = at;
	batch->failed_code = code;
	snprintf(batch->failed_why, sizeof(batch->failed_why), "%s", reason);
}

static void end_with_failure(struct pipeline *p, const struct batch *head)
{
	char path[PATH_MAX], name[NAME_SHOWN], text[sizeof(p->failure.message)];
	uint32_t sample = head->places[head->failed].sample;
	struct source_place where;

	mark_bad(p, sample, head->failed_code, head->failed_why);
	source_place(p->parts.source, sample, path, &where);
	name_escape(where.path != NULL ? where.path : "a sample in memory", name,
		    sizeof(name));
	snprintf(text, sizeof(text), "%s: %s", name, head->failed_why);
	stream_fail(p, head->failed_code, text);
}

/* Publishes the oldest batches as far as they are finished. */
void finish_heads(struct pipeline *p)
{
	while (p->open > 0 && p->failure.code == 0) {
		struct batch *head = &p->batches[p->fifo[p->head]];

		if (head->done < head->count)
			return;
		if (head->failed_code != 0) {
			end_with_failure(p, head);
			return;
		}
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

void finish_place(struct pipeline *p, struct batch *batch, struct place *place,
		  int code, const char *reason)
{
	batch->done++;
	place->state = PLACE_DONE;
	if (code != 0) {
		batch->holes++;
		place->state = PLACE_HOLE;
		if (p->parts.options->fail)
			note_failure(batch, place, code, reason);
		else
			mark_bad(p, place->sample, code, reason);
	}
	if (batch->done == batch->count)
		finish_heads(p);
}
