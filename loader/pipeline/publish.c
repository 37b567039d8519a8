/* publish.c - puts finished batches into the sink, whole and in order. */
#include "loader/base/name.h"
#include "loader/base/trace.h"
#include "loader/options.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/prep.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The open batch of the head's pass that owns a position; NULL if it is not open. */
static struct batch *publish_owner(struct pipeline *p, const struct batch *head,
				   uint32_t position)
{
	uint32_t ahead = (position - head->first) / p->batch;
	struct batch *batch;

	if (ahead >= p->open)
		return NULL;
	batch = &p->batches[p->fifo[(p->head + ahead) % RING_SLOTS]];
	return batch->stream && batch->pass == head->pass ? batch : NULL;
}

/* The hole goes where the sample was. */
static void move_sample(struct pipeline *p, struct batch *to, uint32_t at,
			struct batch *from, uint32_t index)
{
	struct place *place = &to->places[at], *donor = &from->places[index];
	struct place hole;
	struct batch_sink *sink = p->parts.sink;

	stream_drop(place);
	hole = *place;
	*place = *donor;
	*donor = hole;
	memcpy(sink->ops->sample(sink, stream_slot(p, to), at),
	       sink->ops->sample(sink, stream_slot(p, from), index),
	       prep_sample_bytes(p->parts.prep));
}

/*
 * Fills one hole of the oldest batch with the next position nobody used. Returns false
 * when that sample must be waited for.
 */
static bool fill_hole(struct pipeline *p, struct batch *head, uint32_t at)
{
	uint32_t end = head->first + head->count;
	struct place *place = &head->places[at];
	struct plan_pass pass;

	plan_pass(p->parts.plan, head->pass, &pass);
	for (;;) {
		uint32_t donor = p->stolen > end ? p->stolen : end;
		struct batch *from;
		struct place *other;

		if (donor >= pass.length + pass.spare)
			return true; /* the pass has no more: it stays a hole */
		from = publish_owner(p, head, donor);
		if (from == NULL) {
			p->stolen = donor + 1;
			stream_reopen(head, place);
			stream_supply(p, head, place, donor);
			pipeline_wake(p);
			if (place->state == PLACE_HOLE) {
				counts_unused(p, head, place);
				continue;
			}
			return false;
		}
		other = &from->places[donor - from->first];
		if (other->state != PLACE_DONE && other->state != PLACE_HOLE)
			return false;
		p->stolen = donor + 1;
		if (other->state == PLACE_HOLE) {
			counts_unused(p, head, other);
			continue;
		}
		move_sample(p, head, at, from, donor - from->first);
		head->holes--;
		from->holes++;
		return true;
	}
}

/* Bytes that are no good must not get into the cache. */
static void empty_holes(struct batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++)
		if (batch->places[i].state == PLACE_HOLE)
			stream_drop(&batch->places[i]);
}

/* Moves the holes that nothing is left to fill behind the samples. */
static void publish_compact(struct pipeline *p, struct batch *batch)
{
	uint32_t good = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		if (batch->places[i].state == PLACE_HOLE)
			continue;
		if (good != i)
			move_sample(p, batch, good, batch, i);
		good++;
	}
}

static bool fill_holes(struct pipeline *p, struct batch *head)
{
	/* a place is for its own readers alone */
	bool fixed = head->stream && p->parts.plan->ops->readers != NULL;

	for (uint32_t i = 0; head->holes > 0 && i < head->count; i++) {
		if (head->places[i].state != PLACE_HOLE)
			continue;
		counts_unused(p, head, &head->places[i]);
		if (fixed)
			continue;
		if (head->stream ? !fill_hole(p, head, i)
				 : !repeat_fill(p, head, &head->places[i]))
			return false;
	}
	empty_holes(head);
	if (head->holes > 0 && !fixed)
		publish_compact(p, head);
	return true;
}

static struct pipeline_point point_after(const struct batch *batch)
{
	return (struct pipeline_point){batch->pass, batch->first + batch->count,
				       batch->stolen};
}

static void list_samples(struct pipeline *p, const struct batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct place *place = &batch->places[i];
		struct batch_sink_sample *sample = &p->samples[i];

		sample->hole = place->state == PLACE_HOLE;
		sample->readers = place->readers;
		sample->sample = sample->hole ? UINT32_MAX : place->sample;
		sample->label = sample->hole
					? UINT32_MAX
					: source_label(p->parts.source, place->sample);
	}
}

static void publish_batch(struct pipeline *p, struct batch *batch)
{
	struct batch_sink *sink = p->parts.sink;
	struct pipeline_point after;
	struct plan_pass pass;
	struct batch_sink_batch made = {
		.epoch = batch->epoch,
		.step = batch->first / p->batch,
		.count = batch->count,
		.good = batch->count - batch->holes,
		.repeated = !batch->stream,
		.turn = p->turn.number,
	};

	counts_published(p, batch);
	batch->stolen = p->stolen;
	after = batch->stream ? point_after(batch) : p->delivered;
	plan_pass(p->parts.plan, after.pass, &pass);
	made.pass = after.pass;
	made.position = after.position;
	made.stolen = after.stolen;
	made.left = pass.length - after.position;
	list_samples(p, batch);
	p->untaken += made.good;
	sink->ops->publish(sink, stream_slot(p, batch), &made, p->samples);
	if (!sink->ops->final)
		return;
	publish_delivered(p, batch);
	pipeline_depth_take(p, batch);
	pthread_cond_broadcast(&p->work); /* its slot is free again */
	pthread_cond_signal(&p->wanted);
	p->kick = true;
}

static void publish_discard(struct pipeline *p, struct batch *batch)
{
	counts_discarded(p, batch);
	p->parts.sink->ops->discard(p->parts.sink, stream_slot(p, batch));
	pthread_cond_broadcast(&p->work); /* its slot is free again */
}

static void publish_losses(struct pipeline *p, const struct batch *batch)
{
	uint64_t round = (batch->base + batch->first) / p->epoch_samples;
	struct pipeline_losses *losses = &p->losses;

	if (round != losses->round)
		*losses = (struct pipeline_losses){.round = round};
	losses->lost += batch->unused.lost;
	if (losses->told || losses->lost * PIPELINE_LOSSY <= p->epoch_samples)
		return;
	losses->told = true;
	if (p->parts.on_loss != NULL)
		p->parts.on_loss(p->parts.context, batch->epoch);
}

void publish_position(struct pipeline *p)
{
	struct pipeline_point next = p->delivered;
	struct plan_pass pass;

	stream_pass(p, &next, &pass);
	atomic_store(&p->epoch_now, pass.epoch);
	atomic_store(&p->step_now, next.position / p->batch);
}

void publish_delivered(struct pipeline *p, struct batch *batch)
{
	batch->delivered = true;
	p->untaken -= batch->count - batch->holes;
	if (batch->stream) {
		p->delivered = point_after(batch);
		publish_position(p);
		publish_losses(p, batch);
		return;
	}
	p->measuring.repeats += batch->count - batch->holes;
}

/* The program gets only whole batches of it. */
static bool publish_drops_rest(const struct pipeline *p)
{
	return p->parts.options->drop_last && !pipeline_final(p);
}

/* Fails after as many places as an epoch has without a batch; where each sample keeps its
 * place, one may come first in an epoch and last in the next. */
static bool publish_gives_up(struct pipeline *p, const struct batch *batch)
{
	uint32_t good = batch->count - batch->holes;
	uint64_t most = p->epoch_samples;

	if (p->parts.plan->ops->readers != NULL)
		most *= 2;
	p->bad_in_a_row = good < (publish_drops_rest(p) ? p->batch : 1)
				  ? p->bad_in_a_row + batch->count
				  : 0;
	if (p->bad_in_a_row <= most)
		return false;
	stream_fail(p, EBADMSG,
		    good > 0 ? "no whole batch of an epoch could be read and decoded: "
			       "make batches smaller, or leave drop_last out"
			     : "no sample of a whole epoch could be read and decoded");
	return true;
}

/* False for a turn that publishes nothing, for a pass's short rest if the program does
 * not want it, and for a batch without a sample. */
static bool publish_wanted(const struct pipeline *p, const struct batch *batch)
{
	uint32_t good = batch->count - batch->holes;

	if (p->turn.ops->thrown)
		return false;
	return pipeline_final(p) || good >= (publish_drops_rest(p) ? p->batch : 1);
}

/* Counts and names it once, however often it is tried. */
static void publish_name(struct pipeline *p, uint32_t sample, int code,
			 const char *reason)
{
	if (stream_named(p, sample))
		return;
	p->named[sample / 64] |= UINT64_C(1) << (sample % 64);
	trace_add(p->parts.process, TRACE_skipped_samples, 1);
	if (p->parts.on_skip != NULL)
		p->parts.on_skip(p->parts.context, sample, code, reason);
}

/* Storage may be back in the next epoch; what a file holds will be no better then. */
static void publish_note_unread(struct pipeline *p, uint32_t sample, bool unread)
{
	uint64_t *word = &p->unread[sample / 64];
	uint64_t bit = UINT64_C(1) << (sample % 64);

	*word = unread ? *word | bit : *word & ~bit;
}

/* --on-error=fail: the first sample in the order of the stream that can't be used ends
 * the data, even if a later one is found first. */
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
	char name[NAME_SHOWN], text[sizeof(p->failure.message)];
	uint32_t sample = head->places[head->failed].sample;

	publish_name(p, sample, head->failed_code, head->failed_why);
	source_name(p->parts.source, sample, name, sizeof(name));
	snprintf(text, sizeof(text), "%s: %s", name, head->failed_why);
	stream_fail(p, head->failed_code, text);
}

void publish_heads(struct pipeline *p)
{
	while (p->open > 0 && p->failure.code == 0) {
		struct batch *head = &p->batches[p->fifo[p->head]];

		if (head->done < head->count)
			return;
		if (head->failed_code != 0) {
			end_with_failure(p, head);
			return;
		}
		if (head->stream && head->pass != p->head_pass) {
			p->head_pass = head->pass;
			p->stolen = 0;
		}
		if (head->holes > 0 && !fill_holes(p, head))
			return;
		head->open = false;
		p->head = (p->head + 1) % RING_SLOTS;
		p->open--;
		if (publish_gives_up(p, head))
			return;
		if (publish_wanted(p, head))
			publish_batch(p, head);
		else
			publish_discard(p, head);
	}
	if (p->open == 0 && stream_ended(p))
		p->parts.sink->ops->wake(p->parts.sink);
}

void publish_place(struct pipeline *p, struct batch *batch, struct place *place,
		   int code, const char *reason)
{
	bool read = place->state != PLACE_READING;

	batch->done++;
	place->state = PLACE_DONE;
	if (place->held > 0 && p->parts.options->prefetch_bytes > 0) {
		pthread_cond_broadcast(&p->wanted);
		p->kick = true;
	}
	stream_hold(p, place, 0);
	if (!p->caches)
		stream_drop(place);
	if (code != 0) {
		publish_note_unread(p, place->sample, !read);
		batch->holes++;
		place->state = PLACE_HOLE;
		place->failed = true;
		if (p->parts.options->fail)
			note_failure(batch, place, code, reason);
		else if (p->failure.code == 0) /* else the data ends before it */
			publish_name(p, place->sample, code, reason);
	}
	if (batch->done == batch->count)
		publish_heads(p);
}
