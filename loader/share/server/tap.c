/*
 * tap.c - sits between the pipeline and the feed, and sees what is published: where laps
 * begin, so that jobs can begin there too, and which samples, for the audit.
 */
#include "loader/share/server/server_state.h"

#include <unistd.h>

static struct tap *tap_of(struct batch_sink *sink)
{
	return (struct tap *)sink; /* its first member */
}

static bool tap_reserve(struct batch_sink *sink, uint32_t slot, uint32_t count,
			bool thrown)
{
	struct tap *tap = tap_of(sink);

	if (!tap->server->order->wanted(tap->server))
		return false;
	return tap->feed->ops->reserve(tap->feed, slot, count, thrown);
}

static void *tap_sample(struct batch_sink *sink, uint32_t slot, uint32_t at)
{
	struct batch_sink *feed = tap_of(sink)->feed;

	return feed->ops->sample(feed, slot, at);
}

static void tap_discard(struct batch_sink *sink, uint32_t slot)
{
	struct batch_sink *feed = tap_of(sink)->feed;

	feed->ops->discard(feed, slot);
}

static void tap_rewind_all(struct batch_sink *sink)
{
	struct batch_sink *feed = tap_of(sink)->feed;

	feed->ops->rewind(feed);
}

void tap_news(const struct tap *tap)
{
	uint64_t one = 1;

	while (write(tap->server->news, &one, sizeof(one)) < 0)
		break; /* full: it will be read */
}

static void tap_publish(struct batch_sink *sink, uint32_t slot,
			const struct batch_sink_batch *batch,
			const struct batch_sink_sample *samples)
{
	struct tap *tap = tap_of(sink);
	struct share_server *server = tap->server;
	uint64_t first = feed_published(server->feed);

	if (!batch->repeated && batch->lap != tap->lap) {
		tap->lap = batch->lap;
		server->order->lap(server, batch->lap);
	}
	tap->feed->ops->publish(tap->feed, slot, batch, samples);
	if (server->audit != NULL)
		audit_note(server->audit, server->feed, first);
}

static void tap_wake(struct batch_sink *sink)
{
	struct tap *tap = tap_of(sink);

	tap->feed->ops->wake(tap->feed);
	tap_news(tap);
}

void tap_open(struct tap *tap, struct share_server *server, uint64_t lap)
{
	static const struct batch_sink_ops ops = {
		.reserve = tap_reserve,
		.sample = tap_sample,
		.publish = tap_publish,
		.discard = tap_discard,
		.rewind = tap_rewind_all,
		.wake = tap_wake,
		.final = true,
	};

	*tap = (struct tap){
		.base.ops = &ops,
		.feed = feed_outlet(server->feed),
		.server = server,
		.lap = lap,
	};
}
