/* scheduler_epoch.c - clients of one data set: where they begin. */
#include "loader/base/error.h"
#include "loader/components.h"
#include "loader/options.h"
#include "loader/share/server/reactor.h"
#include "loader/share/server/share_stream.h"

#include <errno.h>

static int scheduler_epoch_open(struct share_stream *stream, struct error *err)
{
	const struct shared_epoch_config config = {
		.count = share_stream_samples(stream),
		.seed = stream->options->seed,
		.in_order = stream->options->in_order,
		.blocks = components_blocks(stream->options, stream->parts->source),
		.end_epoch = stream->options->epochs > 0 ? stream->options->epochs
							 : UINT64_MAX,
	};

	stream->shared = shared_epoch_open(&config, err);
	stream->round = -1;
	if (stream->shared == NULL)
		return -err->code;
	stream->plan = shared_epoch_plan(stream->shared);
	return 0;
}

static void scheduler_epoch_close(struct share_stream *stream)
{
	shared_epoch_close(stream->shared);
	stream->shared = NULL;
}

/* ---- where jobs begin ---- */

static int scheduler_epoch_attach(struct share_stream *stream, struct client *client,
				  int entry, uint64_t start, struct error *err)
{
	int result = client_attach(stream, client, start, err);

	if (result < 0)
		return result;
	client->entry = entry;
	stream->entry_starts[entry].owners++;
	return 0;
}

/* Clients that wait for its next pass would wait for ever. */
static void scheduler_epoch_end_round(struct share_stream *stream)
{
	stream->round = -1;
	if (stream->queued_count > 0)
		reactor_notify(stream->reactor);
}

static void scheduler_epoch_leave(struct share_stream *stream, struct client *client)
{
	if (client->entry < 0)
		return;
	shared_epoch_put(stream->shared, (unsigned)client->entry);
	if (--stream->entry_starts[client->entry].owners == 0) {
		stream->entry_starts[client->entry] = (struct entry_start){0};
		if (stream->round == client->entry)
			scheduler_epoch_end_round(stream);
	}
	client->entry = -1;
}

/* The entry point that began last of those that are still in the ring; -1: none. */
static int scheduler_epoch_recent_entry(const struct share_stream *stream)
{
	uint64_t tail = bcast_tail(stream->ring);
	int found = -1;

	for (int entry = 0; entry < SHARED_EPOCH_ENTRIES; entry++) {
		const struct entry_start *at = &stream->entry_starts[entry];

		if (at->owners > 0 && at->known && at->sequence >= tail &&
		    (found < 0 || at->sequence > stream->entry_starts[found].sequence))
			found = entry;
	}
	return found;
}

/* An entry point at the pipeline's position. */
static int scheduler_epoch_new_entry(struct share_stream *stream, struct error *err)
{
	const struct pipeline_point *next = &stream->next;
	uint32_t position =
		next->stolen > next->position ? next->stolen : next->position;
	int entry = shared_epoch_enter(stream->shared, next->pass, position);

	if (entry < 0) {
		error_set(err, -entry,
			  "no more jobs can begin at the moment: try again");
		return entry;
	}
	stream->entry_starts[entry] = (struct entry_start){
		.owners = stream->entry_starts[entry].owners,
		.known = true,
		.pass = shared_epoch_began(stream->shared, (unsigned)entry),
		.sequence = bcast_reserved(stream->ring),
		.voids = position - next->position,
	};
	return entry;
}

/* Makes the client an owner of the entry point. */
static int scheduler_epoch_attach_at(struct share_stream *stream, struct client *client,
				     int entry, struct error *err)
{
	const struct entry_start *at = &stream->entry_starts[entry];
	int result;

	client->voids = at->voids;
	client->remaining = share_stream_samples(stream) + at->voids;
	result = scheduler_epoch_attach(stream, client, entry, at->sequence, err);
	if (result < 0)
		shared_epoch_put(stream->shared, (unsigned)entry);
	return result;
}

static int scheduler_epoch_begin(struct share_stream *stream, struct client *client,
				 struct error *err)
{
	int entry = scheduler_epoch_recent_entry(stream), result = -EINVAL;

	if (entry >= 0) {
		shared_epoch_ref(stream->shared, (unsigned)entry);
		result = scheduler_epoch_attach_at(stream, client, entry, err);
	}
	if (result == -EINVAL) { /* none, or readers have just let it go */
		entry = scheduler_epoch_new_entry(stream, err);
		result = entry < 0 ? entry
				   : scheduler_epoch_attach_at(stream, client, entry,
							       err);
	}
	if (result == 0 && stream->round < 0)
		stream->round = entry;
	return result;
}

/* A client that gets no slot waits for the next round. */
static void scheduler_epoch_join_round(struct share_stream *stream)
{
	unsigned waiting = 0;

	for (unsigned i = 0; i < stream->queued_count; i++) {
		struct client *client = stream->queued[i];
		struct error err = {0};

		shared_epoch_ref(stream->shared, (unsigned)stream->round);
		if (scheduler_epoch_attach_at(stream, client, stream->round, &err) < 0)
			stream->queued[waiting++] = client;
	}
	stream->queued_count = waiting;
}

/* Queued clients attach before readers can release the first place. */
static void scheduler_epoch_begin_at(struct share_stream *stream, int entry,
				     uint64_t pass)
{
	struct entry_start *start = &stream->entry_starts[entry];

	/* an earlier entry point may have had that number */
	if (start->owners == 0 || pass < start->pass)
		return;
	start->known = true;
	start->sequence = bcast_published(stream->ring);
	start->voids = 0;
	if (entry != stream->round || stream->queued_count == 0)
		return;
	scheduler_epoch_join_round(stream);
	reactor_notify(stream->reactor);
}

static void scheduler_epoch_begin_pass(struct share_stream *stream, uint64_t pass)
{
	int entry = shared_epoch_entry_of(stream->shared, pass);

	if (entry >= 0)
		scheduler_epoch_begin_at(stream, entry, pass);
}

const struct scheduler_ops scheduler_epoch = {
	.open = scheduler_epoch_open,
	.close = scheduler_epoch_close,
	.begin = scheduler_epoch_begin,
	.leave = scheduler_epoch_leave,
	.pass = scheduler_epoch_begin_pass,
};
