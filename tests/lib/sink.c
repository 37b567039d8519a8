#include "tests/lib/sink.h"

#include <string.h>

static struct sink *lock(struct batch_sink *base)
{
	struct sink *sink = (struct sink *)base;

	pthread_mutex_lock(&sink->lock);
	return sink;
}

static void unlock(struct sink *sink, bool changed)
{
	if (changed) {
		sink->changes++;
		pthread_cond_signal(&sink->changed);
	}
	pthread_mutex_unlock(&sink->lock);
}

static void expect(struct sink *sink, bool kept, const char *promise)
{
	if (!kept && sink->breach == NULL)
		sink->breach = promise;
}

static bool reserve(struct batch_sink *base, uint32_t slot, uint32_t count, bool thrown)
{
	struct sink *sink = lock(base);
	bool room = sink->used + count <= sink->room;

	expect(sink, slot < SINK_SLOTS && !sink->slot[slot].reserved,
	       "a slot is reserved once");
	expect(sink, count >= 1 && count <= SINK_BATCH, "a batch has places");
	if (room) {
		sink->used += count;
		sink->slot[slot].reserved = true;
		sink->slot[slot].thrown = thrown;
		sink->slot[slot].count = count;
		sink->order[sink->reserved++] = slot;
	}
	unlock(sink, false);
	return room;
}

static void *sample(struct batch_sink *base, uint32_t slot, uint32_t at)
{
	struct sink *sink = lock(base);
	void *bytes = sink->slot[slot].bytes[at];

	expect(sink, sink->slot[slot].reserved && at < sink->slot[slot].count,
	       "samples go to reserved places");
	unlock(sink, false);
	return bytes;
}

static void end_oldest(struct sink *sink, uint32_t slot)
{
	expect(sink, sink->reserved > 0 && sink->order[0] == slot,
	       "batches leave in the order in which they were reserved");
	sink->slot[slot].reserved = false;
	sink->reserved -= sink->reserved > 0;
	memmove(&sink->order[0], &sink->order[1],
		sink->reserved * sizeof(sink->order[0]));
}

static void publish(struct batch_sink *base, uint32_t slot,
		    const struct batch_sink_batch *batch,
		    const struct batch_sink_sample *samples)
{
	struct sink *sink = lock(base);
	const struct sink_slot *from = &sink->slot[slot];

	expect(sink, !from->thrown, "what is thrown is not published");
	expect(sink, batch->count == from->count, "a batch has the places reserved");
	expect(sink,
	       sink->batches < SINK_PLACES &&
		       sink->places + batch->count <= SINK_PLACES,
	       "the test makes room for all batches");
	end_oldest(sink, slot);
	sink->batch[sink->batches++] =
		(struct sink_batch){.told = *batch, .first = sink->places};
	for (uint32_t i = 0; i < batch->count; i++, sink->places++) {
		expect(sink, sink->has_readers || samples[i].hole == (i >= batch->good),
		       "holes come last");
		sink->place[sink->places] = samples[i];
		memcpy(sink->bytes[sink->places], from->bytes[i], SINK_BYTES);
	}
	unlock(sink, true);
}

static void discard(struct batch_sink *base, uint32_t slot)
{
	struct sink *sink = lock(base);

	expect(sink, sink->slot[slot].thrown, "only what is thrown is discarded");
	end_oldest(sink, slot);
	sink->discarded++;
	unlock(sink, true);
}

static void back(struct batch_sink *base)
{
	struct sink *sink = lock(base);

	for (uint32_t i = 0; i < SINK_SLOTS; i++)
		sink->slot[i].reserved = false;
	sink->reserved = 0;
	sink->used = 0;
	sink->rewound++;
	unlock(sink, false);
}

static void wake(struct batch_sink *base)
{
	unlock(lock(base), true);
}

static const struct batch_sink_ops ops = {
	.reserve = reserve,
	.sample = sample,
	.publish = publish,
	.discard = discard,
	.rewind = back,
	.wake = wake,
	.final = true,
};

void sink_init(struct sink *sink, uint32_t room)
{
	memset(sink, 0, sizeof(*sink));
	sink->base.ops = &ops;
	sink->room = room;
	pthread_mutex_init(&sink->lock, NULL);
	pthread_cond_init(&sink->changed, NULL);
}

void sink_fini(struct sink *sink)
{
	pthread_cond_destroy(&sink->changed);
	pthread_mutex_destroy(&sink->lock);
}

unsigned sink_wait(struct sink *sink)
{
	unsigned ended;

	pthread_mutex_lock(&sink->lock);
	while (sink->changes == sink->seen)
		pthread_cond_wait(&sink->changed, &sink->lock);
	sink->seen = sink->changes;
	sink->used = 0;
	for (uint32_t i = 0; i < sink->reserved; i++)
		sink->used += sink->slot[sink->order[i]].count;
	ended = sink->batches + sink->discarded;
	pthread_mutex_unlock(&sink->lock);
	return ended;
}
