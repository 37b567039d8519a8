#include "tests/lib/feeder.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <unistd.h>

const struct bcast_config feeder_config = {
	.places = FEEDER_PLACES,
	.slots = FEEDER_SLOTS,
	.batch = FEEDER_BATCH,
	.sample_bytes = FEEDER_WORDS * sizeof(uint32_t),
};

uint32_t feeder_labels[FEEDER_ROOM], feeder_samples[FEEDER_ROOM];

void feeder_fill(struct bcast_ring *ring, uint32_t slot, uint32_t count, uint32_t first)
{
	struct batch_sink *sink = bcast_sink(ring);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t *words = sink->ops->sample(sink, slot, i);

		for (uint32_t w = 0; w < FEEDER_WORDS; w++)
			words[w] = (first + i) * 1000 + w;
	}
}

bool feeder_put(struct bcast_ring *ring, uint32_t first, uint32_t count, uint32_t holes,
		bool repeated)
{
	struct batch_sink *sink = bcast_sink(ring);
	struct batch_sink_sample list[FEEDER_BATCH];
	const struct batch_sink_batch batch = {
		.count = count + holes,
		.good = count,
		.repeated = repeated,
		.pass = 7,
		.position = first + count,
	};

	if (!sink->ops->reserve(sink, 0, count + holes, false))
		return false;
	feeder_fill(ring, 0, count, first);
	for (uint32_t i = 0; i < count + holes; i++)
		list[i] = (struct batch_sink_sample){first + i, first + i + 5,
						     UINT64_MAX, i >= count};
	sink->ops->publish(sink, 0, &batch, list);
	return true;
}

struct bcast_reader *feeder_join(struct bcast_ring *ring, uint64_t start, bool audit,
				 uint32_t *number)
{
	struct bcast_handles slot;
	int got = bcast_attach(ring, start, &slot, NULL);
	const struct bcast_reader_config config = {
		.memory = dup(bcast_fd(ring)),
		.page = dup(slot.page),
		.event = dup(slot.event),
		.slot = (uint32_t)got,
		.start = start,
		.epoch_places = FEEDER_EPOCH,
		.remaining = FEEDER_EPOCH,
		.audit = audit,
	};

	assert_true(got >= 0);
	if (number != NULL)
		*number = (uint32_t)got;
	return bcast_reader_open(&config, NULL);
}

void feeder_check(const struct bcast_reader *reader, const struct bcast_batch *batch)
{
	static uint32_t copy[FEEDER_ROOM * FEEDER_WORDS];
	const uint32_t *words = batch->data;

	if (words == NULL) {
		bcast_copy(reader, batch, copy);
		words = copy;
	}
	for (uint32_t i = 0; i < batch->count; i++)
		for (uint32_t w = 0; w < FEEDER_WORDS; w++)
			assert_int_equal(words[i * FEEDER_WORDS + w],
					 feeder_samples[i] * 1000 + w);
}

int feeder_take(struct bcast_reader *reader, uint32_t count, struct bcast_batch *batch)
{
	int result = bcast_take(reader, count, 0, batch, feeder_labels, feeder_samples,
				NULL);

	if (result == 1)
		feeder_check(reader, batch);
	return result;
}

uint32_t feeder_gaps(const struct bcast_ring *ring)
{
	uint64_t end = bcast_published(ring);
	uint32_t count = 0;

	for (uint64_t at = end - bcast_places(ring); at < end; at++)
		count += bcast_place(ring, at)->flags == BCAST_GAP;
	return count;
}
