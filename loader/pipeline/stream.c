/* stream.c - cuts the stream into batches and gives each place its sample. */
#include "loader/base/blob.h"
#include "loader/cache.h"
#include "loader/options.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/source.h"

uint32_t stream_slot(const struct pipeline *p, const struct batch *batch)
{
	return (uint32_t)(batch - p->batches);
}

bool stream_named(const struct pipeline *p, uint32_t sample)
{
	return (p->named[sample / 64] >> (sample % 64) & 1) != 0;
}

bool stream_unread(const struct pipeline *p, uint32_t sample)
{
	return (p->unread[sample / 64] >> (sample % 64) & 1) != 0;
}

bool stream_useless(const struct pipeline *p, uint32_t sample)
{
	return stream_named(p, sample) && !stream_unread(p, sample);
}

void stream_pass(struct pipeline *p, struct pipeline_point *point,
		 struct plan_pass *pass)
{
	plan_pass(p->parts.plan, point->pass, pass);
	while (pass->length > 0 && point->position >= pass->length) {
		*point = (struct pipeline_point){.pass = point->pass + 1};
		plan_pass(p->parts.plan, point->pass, pass);
	}
}

bool stream_ended(struct pipeline *p)
{
	struct plan_pass pass;

	stream_pass(p, &p->next, &pass);
	return pass.length == 0;
}

void stream_ready(struct batch *batch, struct place *place, struct blob *blob)
{
	place->blob = blob;
	place->bytes = (uint32_t)blob->size;
	place->state = PLACE_READY;
	batch->ready++;
}

void stream_wait(struct batch *batch, struct place *place)
{
	place->state = PLACE_WAITING;
	batch->waiting++;
}

void stream_drop(struct place *place)
{
	blob_put(place->blob);
	place->blob = NULL;
}

void stream_hold(struct pipeline *p, struct place *place, uint32_t bytes)
{
	p->held = p->held - place->held + bytes;
	place->held = bytes;
}

/* As long as anything is held it will be used: this place's turn comes. */
static bool stream_admits(const struct pipeline *p, const struct place *place)
{
	uint64_t most = p->parts.options->prefetch_bytes;

	return most == 0 || p->held == 0 ||
	       p->held + source_size(p->parts.source, place->sample) <=
		       most - merge_room(p);
}

void stream_reopen(struct batch *batch, struct place *hole)
{
	batch->holes--;
	batch->done--;
	stream_drop(hole);
}

/* Failed: its sample is one that can't be used; else it went to an earlier batch. */
static void stream_hole(struct batch *batch, struct place *place, bool failed)
{
	place->state = PLACE_HOLE;
	place->failed = failed;
	batch->holes++;
	batch->done++;
}

void stream_supply(struct pipeline *p, struct batch *batch, struct place *place,
		   uint32_t position)
{
	struct plan *plan = p->parts.plan;
	struct blob *blob;

	place->sample = plan_sample(plan, batch->pass, position);
	place->readers = plan->ops->readers != NULL
				 ? plan->ops->readers(plan, batch->pass, position)
				 : UINT64_MAX;
	place->seed = random_seed(p->parts.options->seed, batch->epoch, place->sample);
	place->fetch_ns = 0;
	place->hit = false;
	place->pixels = 0;
	place->calls = (struct fetch_calls){0};
	if (stream_useless(p, place->sample)) {
		stream_hole(batch, place, true);
		return;
	}
	blob = p->turn.ops->find(p, batch, place, position);
	if (blob != NULL)
		stream_ready(batch, place, blob);
	else if (!merge_join(p, batch, place))
		stream_wait(batch, place);
}

void stream_retire(struct pipeline *p, struct batch *batch)
{
	for (uint32_t i = 0; i < p->batch; i++) {
		struct place *place = &batch->places[i];

		if (place->blob == NULL)
			continue;
		if (batch->delivered && batch->stream && !place->hit)
			cache_offer(p->parts.cache, place->sample, place->blob);
		stream_drop(place);
	}
	batch->delivered = false;
}

bool stream_fail(struct pipeline *p, int code, const char *reason)
{
	if (p->failure.code == 0)
		error_set(&p->failure, code, "%s", reason);
	p->parts.sink->ops->wake(p->parts.sink);
	return false;
}

/* A slot with room for a batch of so many, or RING_SLOTS. */
static uint32_t reserve_slot(struct pipeline *p, uint32_t count)
{
	struct batch_sink *sink = p->parts.sink;

	for (uint32_t i = 0; i < p->parts.slots; i++) {
		uint32_t slot = (p->slot_hint + i) % p->parts.slots;

		if (p->batches[slot].open)
			continue;
		if (sink->ops->reserve(sink, slot, count, p->turn.ops->thrown)) {
			p->slot_hint = slot + 1;
			return slot;
		}
		if (sink->ops->final) /* no slot of it is held: it has no room */
			break;
	}
	return RING_SLOTS;
}

/* The next batch of the stream, at its fixed positions. */
static void open_stream(struct pipeline *p, struct batch *batch,
			const struct plan_pass *pass)
{
	uint32_t first = p->next.position, stolen;
	uint64_t steps = ((uint64_t)pass->length + p->batch - 1) / p->batch;

	merge_pass(p, p->next.pass);
	if (p->open == 0 && p->next.pass != p->head_pass) {
		p->head_pass = p->next.pass;
		p->stolen = 0;
	}
	stolen = p->next.pass == p->head_pass ? p->stolen : 0;
	batch->stream = true;
	batch->pass = p->next.pass;
	batch->epoch = pass->epoch;
	batch->base = pass->first;
	batch->first = first;
	for (uint32_t i = 0; i < batch->count; i++) {
		struct place *place = &batch->places[i];

		place->readers = UINT64_MAX;
		if (first + i < stolen)
			stream_hole(batch, place, false);
		else
			stream_supply(p, batch, place, first + i);
	}
	p->next.position += batch->count;
	p->steps = p->steps > steps ? p->steps : steps;
}

static uint32_t stream_places(const struct pipeline *p, const struct plan_pass *pass)
{
	uint32_t left = pass->length - p->next.position;

	return left < p->batch ? left : p->batch;
}

static bool stream_may_open(struct pipeline *p)
{
	const struct turn_ops *ops = p->turn.ops;

	return p->on && p->failure.code == 0 && ops->may_open != NULL &&
	       ops->may_open(p);
}

/* Opens the next batch, if there is room for it; NULL: it can't. */
static struct batch *open_next(struct pipeline *p)
{
	const struct turn_ops *ops = p->turn.ops;
	struct plan_pass pass;
	struct batch *batch;
	uint32_t slot, count;
	bool stream;

	stream_pass(p, &p->next, &pass);
	stream = ops->streams != NULL && ops->streams(p, &pass);
	count = stream ? stream_places(p, &pass) : p->batch;
	slot = reserve_slot(p, count);
	if (slot == RING_SLOTS)
		return NULL;
	batch = &p->batches[slot];
	stream_retire(p, batch);
	batch->waiting = batch->ready = batch->done = batch->holes = 0;
	batch->failed_code = 0;
	batch->unused = (struct pipeline_counts){0};
	batch->count = count;
	if (stream)
		open_stream(p, batch, &pass);
	else if (!repeat_open(p, batch))
		return NULL;
	return batch;
}

/* Opens as many batches as there are free slots for. True if one was opened. */
static bool stream_open(struct pipeline *p)
{
	bool opened = false;

	while (stream_may_open(p)) {
		struct batch *batch = open_next(p);

		if (batch == NULL)
			break;
		p->opened++;
		batch->open = true;
		p->fifo[(p->head + p->open++) % RING_SLOTS] = stream_slot(p, batch);
		p->kick |= batch->waiting > 0;
		opened = true;
		if (batch->done == batch->count) /* every sample known to be bad */
			publish_heads(p);
	}
	if (opened) {
		pthread_cond_broadcast(&p->work);
		pthread_cond_broadcast(&p->wanted);
	}
	return opened;
}

/* The oldest place in that state and its batch; NULL when there is none. */
static struct place *stream_oldest(struct pipeline *p, enum place_state state,
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

struct place *stream_take(struct pipeline *p, enum place_state state,
			  struct batch **batch)
{
	struct place *place = stream_oldest(p, state, batch);

	if (place == NULL && stream_open(p))
		place = stream_oldest(p, state, batch);
	if (place == NULL || (state == PLACE_WAITING && !stream_admits(p, place)))
		return NULL;
	if (state == PLACE_READY) {
		place->state = PLACE_PREPARING;
		(*batch)->ready--;
	} else {
		place->state = PLACE_READING;
		stream_hold(p, place, source_size(p->parts.source, place->sample));
		(*batch)->waiting--;
	}
	p->in_flight++;
	return place;
}

void stream_rewind(struct pipeline *p)
{
	merge_rewind(p);
	for (uint32_t slot = 0; slot < p->parts.slots; slot++) {
		for (uint32_t i = 0; p->held > 0 && i < p->batch; i++)
			stream_hold(p, &p->batches[slot].places[i], 0);
		p->batches[slot].open = false;
	}
	p->open = 0;
	p->untaken = 0;
	p->next = p->delivered;
	p->head_pass = p->next.pass;
	p->stolen = p->next.stolen;
	p->carried = (struct pipeline_counts){0}; /* it was beyond what was delivered */
}
