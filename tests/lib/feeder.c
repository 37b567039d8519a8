#include "tests/lib/feeder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

const struct feed_config feeder_config = {
	.places = FEEDER_PLACES,
	.slots = FEEDER_SLOTS,
	.batch = FEEDER_BATCH,
	.sample_bytes = FEEDER_WORDS * sizeof(uint32_t),
	.state_bytes = 100,
};

uint32_t feeder_labels[FEEDER_ROOM], feeder_samples[FEEDER_ROOM];

void feeder_fill(struct feed *feed, uint32_t slot, uint32_t count, uint32_t first)
{
	struct batch_sink *sink = feed_outlet(feed);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t *words = sink->ops->sample(sink, slot, i);

		for (uint32_t w = 0; w < FEEDER_WORDS; w++)
			words[w] = (first + i) * 1000 + w;
	}
}

bool feeder_put(struct feed *feed, uint32_t first, uint32_t count, uint32_t holes,
		bool repeated)
{
	struct batch_sink *sink = feed_outlet(feed);
	struct batch_sink_sample list[FEEDER_BATCH];
	const struct batch_sink_batch batch = {
		.count = count + holes,
		.good = count,
		.repeated = repeated,
		.lap = 7,
		.position = first + count,
	};

	if (!sink->ops->reserve(sink, 0, count + holes, false))
		return false;
	feeder_fill(feed, 0, count, first);
	for (uint32_t i = 0; i < count + holes; i++)
		list[i] = (struct batch_sink_sample){first + i, first + i + 5,
						     UINT64_MAX, i >= count};
	sink->ops->publish(sink, 0, &batch, list);
	return true;
}

struct feed_reader *feeder_join(struct feed *feed, uint64_t start, bool audit,
				uint32_t *number)
{
	struct feed_seat seat;
	int got = feed_sit(feed, start, &seat, NULL);
	const struct feed_reader_config config = {
		.memory = dup(feed_fd(feed)),
		.page = dup(seat.page),
		.event = dup(seat.event),
		.seat = (uint32_t)got,
		.start = start,
		.epoch_places = FEEDER_EPOCH,
		.remaining = FEEDER_EPOCH,
		.audit = audit,
	};

	assert_true(got >= 0);
	if (number != NULL)
		*number = (uint32_t)got;
	return feed_read(&config, NULL);
}

void feeder_check(const struct feed_reader *reader, const struct feed_batch *batch)
{
	static uint32_t copy[FEEDER_ROOM * FEEDER_WORDS];
	const uint32_t *words = batch->data;

	if (words == NULL) {
		feed_copy(reader, batch, copy);
		words = copy;
	}
	for (uint32_t i = 0; i < batch->count; i++)
		for (uint32_t w = 0; w < FEEDER_WORDS; w++)
			assert_int_equal(words[i * FEEDER_WORDS + w],
					 feeder_samples[i] * 1000 + w);
}

int feeder_take(struct feed_reader *reader, uint32_t count, struct feed_batch *batch)
{
	int result =
		feed_take(reader, count, 0, batch, feeder_labels, feeder_samples, NULL);

	if (result == 1)
		feeder_check(reader, batch);
	return result;
}
