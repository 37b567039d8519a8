/*
 * publish_hook.c - sits between the pipeline and the ring, and sees what is published: where passes
 * begin, so that jobs can begin there too, and which samples, for the audit.
 */
#include "loader/share/server/server_state.h"

#include <unistd.h>

static struct publish_hook *publish_hook_of(struct batch_sink *sink)
{
	return (struct publish_hook *)sink; /* its first client */
}

static bool publish_hook_reserve(struct batch_sink *sink, uint32_t slot, uint32_t count,
				 bool thrown)
{
	struct publish_hook *hook = publish_hook_of(sink);

	if (!hook->server->scheduler->wanted(hook->server))
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

void publish_hook_notify(const struct publish_hook *hook)
{
	uint64_t one = 1;

	while (write(hook->server->notify, &one, sizeof(one)) < 0)
		break; /* full: it will be read */
}

static void publish_hook_publish(struct batch_sink *sink, uint32_t slot,
				 const struct batch_sink_batch *batch,
				 const struct batch_sink_sample *samples)
{
	struct publish_hook *hook = publish_hook_of(sink);
	struct share_server *server = hook->server;
	uint64_t first = bcast_published(server->ring);

	if (!batch->repeated && batch->pass != hook->pass) {
		hook->pass = batch->pass;
		server->scheduler->pass(server, batch->pass);
	}
	hook->ring->ops->publish(hook->ring, slot, batch, samples);
	if (server->audit != NULL)
		audit_note(server->audit, server->ring, first);
}

static void publish_hook_wake(struct batch_sink *sink)
{
	struct publish_hook *hook = publish_hook_of(sink);

	hook->ring->ops->wake(hook->ring);
	publish_hook_notify(hook);
}

void publish_hook_open(struct publish_hook *hook, struct share_server *server)
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
		.ring = bcast_sink(server->ring),
		.server = server,
		.pass = UINT64_MAX,
	};
}
