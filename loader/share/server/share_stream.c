/* share_stream.c - opens, locks and ends what the clients share. */
#include "loader/share/server/share_stream.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/components.h"
#include "loader/options.h"
#include "loader/prep.h"
#include "loader/session_join.h"
#include "loader/share.h"
#include "loader/share/server/audit.h"
#include "loader/share/server/reactor.h"
#include "loader/source.h"
#include "loader/windows.h"

#include <stdio.h>

static void share_stream_skip(void *context, uint32_t sample, int code,
			      const char *reason)
{
	struct share_stream *stream = context;
	struct skip_line *skip;

	stream->skipped++;
	if (stream->session->trace != NULL)
		windows_skip(stream->session->trace,
			     &(struct windows_skip){stream->session->process,
						    stream->parts->source, sample, code,
						    reason});
	if (stream->skips.count == SKIPS_LOGGED) {
		stream->skips.more++;
		return;
	}
	skip = &stream->skips.lines[stream->skips.count++];
	source_name(stream->parts->source, sample, skip->name, sizeof(skip->name));
	snprintf(skip->reason, sizeof(skip->reason), "%s", reason);
}

static void share_stream_loss(void *context, uint64_t epoch)
{
	struct share_stream *stream = context;

	stream->skips.many = true;
	stream->skips.epoch = epoch;
}

static uint32_t share_stream_slots(const struct share_stream *stream)
{
	return stream->options->prefetch < stream->config->window
		       ? stream->options->prefetch
		       : stream->config->window;
}

static bool share_stream_wanted(void *context)
{
	const struct share_stream *stream = context;

	return stream->scheduler->wanted == NULL || stream->scheduler->wanted(stream);
}

/* Reports the first batch of a pass to the scheduler: clients may begin there. */
static void share_stream_publishing(void *context, const struct batch_sink_batch *batch)
{
	struct share_stream *stream = context;

	if (batch->repeated || batch->pass == stream->pass)
		return;
	stream->pass = batch->pass;
	if (stream->scheduler->pass != NULL)
		stream->scheduler->pass(stream, batch->pass);
}

static void share_stream_published(void *context, uint64_t first)
{
	const struct share_stream *stream = context;

	if (stream->audit != NULL)
		audit_note(stream->audit, stream->ring, first);
}

static void share_stream_woke(void *context)
{
	const struct share_stream *stream = context;

	reactor_notify(stream->reactor);
}

static int share_stream_open_ring(struct share_stream *stream, struct error *err)
{
	static const struct bcast_watcher watcher = {
		.wanted = share_stream_wanted,
		.publishing = share_stream_publishing,
		.published = share_stream_published,
		.woke = share_stream_woke,
	};
	const struct bcast_config config = {
		.places = stream->config->window * stream->options->batch,
		.slots = share_stream_slots(stream),
		.batch = stream->options->batch,
		.sample_bytes = prep_sample_bytes(stream->parts->prep),
		.audit = stream->config->audit != NULL,
		.gpu = stream->gpu,
		.watcher = &watcher,
		.context = stream,
	};

	stream->ring = bcast_open(&config, err);
	return stream->ring != NULL ? 0 : -err->code;
}

static int share_stream_open_pipeline(struct share_stream *stream, struct error *err)
{
	const struct pipeline_parts parts = {
		.options = stream->options,
		.source = stream->parts->source,
		.cache = stream->parts->cache,
		.prep = stream->parts->prep,
		.plan = stream->plan,
		.sink = bcast_sink(stream->ring),
		.slots = share_stream_slots(stream),
		.throttle = stream->parts->throttle,
		.process = stream->session->process,
		.bound = stream->session->trace,
		.on_skip = share_stream_skip,
		.on_loss = share_stream_loss,
		.context = stream,
	};

	stream->pipeline = pipeline_open(&parts, err);
	return stream->pipeline != NULL ? 0 : -err->code;
}

int share_stream_open(struct share_stream *stream, struct error *err)
{
	int result = stream->scheduler->open(stream, err);

	if (result == 0)
		result = share_stream_open_ring(stream, err);
	if (result < 0)
		return result;
	stream->pass = UINT64_MAX;
	return share_stream_open_pipeline(stream, err);
}

void share_stream_close(struct share_stream *stream)
{
	pipeline_close(stream->pipeline);
	bcast_close(stream->ring);
	if (stream->scheduler != NULL)
		stream->scheduler->close(stream);
	stream->pipeline = NULL;
	stream->ring = NULL;
}

void share_stream_begin(struct share_stream *stream, bool start)
{
	const struct pipeline_turn turn = {.ops = &turn_stream};

	stream->begun = true;
	stream->begun_ns = clock_now();
	if (start)
		pipeline_start(stream->pipeline, &turn);
}

void share_stream_lock(struct share_stream *stream)
{
	pipeline_lock(stream->pipeline, &stream->next);
}

void share_stream_unlock(struct share_stream *stream)
{
	pipeline_unlock(stream->pipeline);
}

bool share_stream_end(struct share_stream *stream, int code, const char *why)
{
	if (stream->ended || stream->ring == NULL)
		return false;
	stream->ended = true;
	bcast_end(stream->ring, code, why);
	return true;
}

void share_stream_stop(struct share_stream *stream)
{
	if (stream->ended || stream->ring == NULL)
		return;
	stream->ended = true;
	bcast_stop(stream->ring);
}

uint32_t share_stream_samples(const struct share_stream *stream)
{
	return source_count(stream->parts->source);
}
