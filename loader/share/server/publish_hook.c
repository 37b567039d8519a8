/*
 * publish_hook.c - between the pipeline and the ring: sees where passes begin, so that
 * clients can begin there, and notes samples for the audit.
 */
#include "loader/share/server/audit.h"
#include "loader/share/server/reactor.h"
#include "loader/share/server/share_stream.h"

static struct publish_hook *publish_hook_of(struct batch_sink *sink)
{
	return (struct publish_hook *)sink; /* its first member */
}

static bool publish_hook_reserve(struct batch_sink *sink, uint32_t slot, uint32_t count,
				 bool thrown)
{
	struct publish_hook *hook = publish_hook_of(sink);
	const struct scheduler_ops *scheduler = hook->stream->scheduler;

	if (scheduler->wanted != NULL && !scheduler->wanted(hook->stream))
		return false;
	return hook->ring->ops->reserve(hook->ring, slot, count, thrown);
}

static void *publish_hook_sample(struct batch_sink *sink, uint32_t slot, uint32_t at)
{
	struct batch_sink *ring = publish_hook_of(sink)->ring;

	return ring->ops->sample(ring, slot, at);
}

static void publish_hook_discard(struct batch_sink *sink, uint32_t slot)
{
	struct batch_sink *ring = publish_hook_of(sink)->ring;

	ring->ops->discard(ring, slot);
}

static void publish_hook_rewind_all(struct batch_sink *sink)
{
	struct batch_sink *ring = publish_hook_of(sink)->ring;

	ring->ops->rewind(ring);
}

static void publish_hook_publish(struct batch_sink *sink, uint32_t slot,
				 const struct batch_sink_batch *batch,
				 const struct batch_sink_sample *samples)
{
	struct publish_hook *hook = publish_hook_of(sink);
	struct share_stream *stream = hook->stream;
	uint64_t first = bcast_published(stream->ring);

	if (!batch->repeated && batch->pass != hook->pass) {
		hook->pass = batch->pass;
		if (stream->scheduler->pass != NULL)
			stream->scheduler->pass(stream, batch->pass);
	}
	hook->ring->ops->publish(hook->ring, slot, batch, samples);
	if (stream->audit != NULL)
		audit_note(stream->audit, stream->ring, first);
}

static void publish_hook_wake(struct batch_sink *sink)
{
	struct publish_hook *hook = publish_hook_of(sink);

	hook->ring->ops->wake(hook->ring);
	reactor_notify(hook->stream->reactor);
}

void publish_hook_open(struct publish_hook *hook, struct share_stream *stream)
{
	static const struct batch_sink_ops ops = {
		.reserve = publish_hook_reserve,
		.sample = publish_hook_sample,
		.publish = publish_hook_publish,
		.discard = publish_hook_discard,
		.rewind = publish_hook_rewind_all,
		.wake = publish_hook_wake,
		.final = true,
	};

	*hook = (struct publish_hook){
		.base.ops = &ops,
		.ring = bcast_sink(stream->ring),
		.stream = stream,
		.pass = UINT64_MAX,
	};
}
