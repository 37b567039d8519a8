/* bcast_ring_test.c - the stream of one writer as a reader sees it. */
#include "loader/share/ring/bcast_reader.h"
#include "loader/share/ring/bcast_ring.h"
#include "tests/lib/feeder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>

TEST(a_reader_cuts_the_stream_into_batches_of_its_own_size)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct bcast_batch batch;

	assert_int_equal(bcast_places(ring), FEEDER_PLACES);
	assert_int_equal(feeder_take(reader, 5, &batch), -EAGAIN);
	assert_true(feeder_put(ring, 0, FEEDER_BATCH, 0, false));
	assert_int_equal(feeder_take(reader, 5, &batch), 1);
	assert_int_equal(batch.count, 5);
	assert_int_equal(feeder_samples[4], 4);
	assert_int_equal(feeder_labels[4], 9);
	assert_non_null(batch.data);
	bcast_release(reader, &batch);
	assert_int_equal(feeder_take(reader, 5, &batch), -EAGAIN); /* 3 are there */
	assert_true(feeder_put(ring, FEEDER_BATCH, FEEDER_BATCH, 0, false));
	assert_int_equal(feeder_take(reader, 5, &batch), 1);
	assert_int_equal(feeder_samples[0], 5);
	assert_int_equal(feeder_samples[4], 9);
	bcast_reader_close(reader);
	bcast_close(ring);
}

TEST(runs_over_the_end_of_the_memory_lie_in_a_row)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct bcast_batch batch;
	uint32_t published = 0, seen = 0;

	for (int round = 0; round < 500; round++) {
		while (feeder_put(ring, published, FEEDER_BATCH, 0, false))
			published += FEEDER_BATCH;
		assert_int_equal(feeder_take(reader, 7, &batch), 1);
		assert_int_equal(feeder_samples[0], seen);
		assert_non_null(batch.data);
		assert_int_equal(bcast_release(reader, &batch), 0);
		seen += batch.count;
	}
	bcast_reader_close(reader);
	bcast_close(ring);
}

TEST(an_epoch_ends_where_its_places_do)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	static const uint32_t sizes[] = {8, 8, 4, 8, 8, 4};
	struct bcast_batch batch;

	for (uint32_t i = 0; i < 6; i++)
		assert_true(feeder_put(ring, i * FEEDER_BATCH, FEEDER_BATCH, 0, false));
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(feeder_take(reader, 8, &batch), 1);
		assert_int_equal(batch.count, sizes[i]);
		assert_int_equal(batch.epoch, i / 3);
		assert_int_equal(batch.epoch_ends, i % 3 == 2);
	}
	assert_int_equal(reader->remaining, FEEDER_EPOCH);
	bcast_reader_close(reader);
	bcast_close(ring);
}

TEST(voids_count_in_an_epoch_and_repeats_do_not)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct bcast_batch batch;

	assert_true(feeder_put(ring, 0, 6, 2, false));
	assert_true(feeder_put(ring, 8, 4, 0, true)); /* repeats */
	assert_true(feeder_put(ring, 12, 7, 1, false));
	assert_true(
		feeder_put(ring, 20, 2, 2, false)); /* the last two places are voids */
	assert_true(feeder_put(ring, 24, 3, 0, false));
	assert_int_equal(feeder_take(reader, 10, &batch), 1);
	assert_int_equal(batch.count, 6);
	assert_false(batch.repeated);
	assert_int_equal(reader->remaining, FEEDER_EPOCH - 8);
	assert_int_equal(feeder_take(reader, 10, &batch), 1);
	assert_int_equal(batch.count, 4);
	assert_true(batch.repeated);
	assert_int_equal(reader->remaining, FEEDER_EPOCH - 8);
	assert_int_equal(feeder_take(reader, 9, &batch), 1);
	assert_int_equal(batch.count, 9);
	assert_null(batch.data); /* a void lies in it */
	assert_true(batch.epoch_ends);
	assert_int_equal(feeder_take(reader, 3, &batch), 1);
	assert_int_equal(batch.epoch, 1);
	assert_int_equal(feeder_samples[0], 24);
	bcast_reader_close(reader);
	bcast_close(ring);
}

TEST(an_epoch_of_voids_alone_is_gone_past)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct bcast_batch batch;
	uint64_t ends = 0;
	int result;

	for (uint32_t round = 0; round < 2 * FEEDER_EPOCH; round++) {
		assert_true(
			feeder_put(ring, 0, 0, FEEDER_BATCH, false)); /* never full */
		while ((result = feeder_take(reader, 1, &batch)) == 1) {
			assert_int_equal(batch.count, 0);
			assert_true(batch.epoch_ends);
			assert_int_equal(batch.epoch, ends++);
			assert_int_equal(reader->remaining, FEEDER_EPOCH);
		}
		assert_int_equal(result, -EAGAIN);
		assert_int_equal(reader->next, bcast_published(ring));
	}
	assert_int_equal(ends, 2 * FEEDER_BATCH);
	assert_int_equal(reader->remaining, FEEDER_EPOCH);
	assert_true(feeder_put(ring, 3, 1, 0, false));
	assert_int_equal(feeder_take(reader, 1, &batch), 1);
	assert_int_equal(batch.epoch, 2 * FEEDER_BATCH);
	bcast_reader_close(reader);
	bcast_close(ring);
}

TEST(repeats_show_what_is_there_and_nothing_else)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct batch_sink *sink = bcast_sink(ring);
	struct bcast_batch batch;
	uint32_t repeats = 0;

	for (uint32_t i = 0; i < FEEDER_PLACES / FEEDER_BATCH; i++) {
		feeder_put(ring, i * FEEDER_BATCH, FEEDER_BATCH - 1, 1, false);
		while (feeder_take(reader, 1, &batch) == 1)
			bcast_release(reader, &batch);
	}
	/* two batches were begun and given up: what lay there is gone */
	assert_true(sink->ops->reserve(sink, 0, FEEDER_BATCH, false));
	assert_int_equal(bcast_repeat(ring, 1, 0), 0);
	assert_true(sink->ops->reserve(sink, 1, FEEDER_BATCH, false));
	feeder_fill(ring, 0, FEEDER_BATCH, 900);
	feeder_fill(ring, 1, FEEDER_BATCH, 950);
	sink->ops->rewind(sink);
	for (int round = 0; round < 20; round++) {
		uint32_t more = bcast_repeat(ring, 10, 3);

		assert_true(more > 0 && more <= 10);
		while (feeder_take(reader, 1, &batch) == 1) {
			assert_true(batch.repeated);
			assert_int_equal(batch.turn, 3);
			assert_true(feeder_samples[0] >= 2 * FEEDER_BATCH &&
				    feeder_samples[0] < FEEDER_PLACES);
			assert_int_equal(feeder_labels[0], feeder_samples[0] + 5);
			bcast_release(reader, &batch);
			repeats++;
		}
	}
	assert_true(repeats > 3 * FEEDER_PLACES);
	feeder_put(ring, 70, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(reader, 1, &batch), 1);
	assert_int_equal(feeder_samples[0], 70);
	bcast_reader_close(reader);
	bcast_close(ring);
}

TEST(repeats_wait_for_readers)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct bcast_batch batch;

	assert_int_equal(bcast_repeat(ring, 10, 0), 0); /* nothing was there ever */
	for (uint32_t i = 0; i < FEEDER_PLACES / FEEDER_BATCH; i++)
		feeder_put(ring, i * FEEDER_BATCH, FEEDER_BATCH, 0, false);
	assert_int_equal(bcast_repeat(ring, 10, 0), 0);
	assert_true(bcast_full_since(ring) > 0);
	assert_int_equal(feeder_take(reader, 3, &batch), 1);
	bcast_release(reader, &batch);
	assert_int_equal(bcast_repeat(ring, 10, 0), 3);
	bcast_reader_close(reader);
	bcast_close(ring);
}

/* Batches that are thrown away: each has room of its own, for ever, and nobody sees it. */
TEST(what_is_thrown_away_takes_no_numbers)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct batch_sink *sink = bcast_sink(ring);
	struct bcast_batch batch;

	feeder_put(ring, 0, FEEDER_BATCH, 0, false);
	for (uint32_t slot = 0; slot < FEEDER_SLOTS; slot++)
		assert_true(sink->ops->reserve(sink, slot, FEEDER_BATCH, true));
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t slot = 0; slot < FEEDER_SLOTS; slot++)
			feeder_fill(ring, slot, FEEDER_BATCH, 100 * slot);
		for (uint32_t slot = 0; slot < FEEDER_SLOTS; slot++) {
			uint32_t *last =
				sink->ops->sample(sink, slot, FEEDER_BATCH - 1);

			assert_int_equal(*last, (100 * slot + FEEDER_BATCH - 1) * 1000);
		}
		sink->ops->discard(sink, round % FEEDER_SLOTS);
		assert_true(sink->ops->reserve(sink, round % FEEDER_SLOTS, FEEDER_BATCH,
					       true));
	}
	sink->ops->rewind(sink);
	assert_int_equal(bcast_published(ring), FEEDER_BATCH);
	assert_int_equal(bcast_reserved(ring), FEEDER_BATCH);
	assert_int_equal(feeder_take(reader, FEEDER_BATCH, &batch), 1);
	bcast_reader_close(reader);
	bcast_close(ring);
}

TEST(a_discarded_batch_leaves_voids_before_later_ones)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *reader = feeder_join(ring, 0, false, NULL);
	struct batch_sink *sink = bcast_sink(ring);
	const struct batch_sink_batch head = {.count = 2, .good = 2};
	const struct batch_sink_sample two[2] = {{1, 6, UINT64_MAX, false},
						 {2, 7, UINT64_MAX, false}};
	struct bcast_batch batch;

	assert_true(sink->ops->reserve(sink, 0, 3, false));
	assert_true(sink->ops->reserve(sink, 1, 2, false));
	feeder_fill(ring, 1, 2, 1);
	sink->ops->discard(sink, 0);
	sink->ops->publish(sink, 1, &head, two);
	assert_int_equal(feeder_take(reader, 2, &batch), 1);
	assert_int_equal(batch.first, 3);
	assert_int_equal(reader->remaining, FEEDER_EPOCH - 2);
	bcast_reader_close(reader);
	bcast_close(ring);
}

/* The stream goes back, and other batches come first: a reader that was to begin with
 * the third still does. */
TEST(a_reader_begins_where_it_was_told_even_if_the_stream_goes_back)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *early = feeder_join(ring, 0, false, NULL), *late;
	struct batch_sink *sink = bcast_sink(ring);
	struct bcast_batch batch;

	feeder_put(ring, 0, FEEDER_BATCH, 0, false);
	assert_true(sink->ops->reserve(sink, 1, FEEDER_BATCH, false)); /* 8 .. 15 */
	assert_true(sink->ops->reserve(sink, 2, FEEDER_BATCH, false)); /* 16 .. 23 */
	late = feeder_join(ring, bcast_reserved(ring), false, NULL);
	sink->ops->rewind(sink);
	sink->ops->rewind(sink);
	feeder_put(ring, 90, 2, 0, true);
	feeder_put(ring, 8, FEEDER_BATCH, 0, false);
	sink->ops->rewind(sink);
	feeder_put(ring, 16, FEEDER_BATCH, 0, false);
	feeder_put(ring, 24, FEEDER_BATCH, 0, false);
	assert_int_equal(feeder_take(late, 2, &batch), 1);
	assert_true(batch.repeated);
	assert_int_equal(feeder_take(late, 2, &batch), 1);
	assert_int_equal(feeder_samples[0], 24);
	assert_int_equal(late->remaining, FEEDER_EPOCH - 2);
	assert_int_equal(feeder_take(early, FEEDER_BATCH, &batch), 1);
	assert_int_equal(feeder_take(early, 2, &batch), 1);
	assert_true(batch.repeated);
	assert_int_equal(feeder_take(early, FEEDER_BATCH, &batch), 1);
	assert_int_equal(feeder_samples[0], 8);
	bcast_reader_close(early);
	bcast_reader_close(late);
	bcast_close(ring);
}

TEST(places_are_for_those_whose_bit_they_carry)
{
	struct bcast_ring *ring = bcast_open(&feeder_config, NULL);
	struct bcast_reader *first = feeder_join(ring, 0, false, NULL);
	struct bcast_reader *second = feeder_join(ring, 0, false, NULL);
	struct batch_sink *sink = bcast_sink(ring);
	const struct batch_sink_batch head = {.count = 4, .good = 4};
	const struct batch_sink_sample list[4] = {
		{1, 6, 1, false}, {2, 7, 2, false}, {3, 8, 3, false}, {4, 9, 2, false}};
	struct bcast_batch batch;

	assert_true(sink->ops->reserve(sink, 0, 4, false));
	feeder_fill(ring, 0, 4, 1);
	sink->ops->publish(sink, 0, &head, list);
	assert_int_equal(feeder_take(first, 2, &batch), 1);
	assert_int_equal(feeder_samples[1], 3);
	assert_null(batch.data);
	assert_int_equal(first->remaining, FEEDER_EPOCH - 2);
	bcast_release(first, &batch);
	assert_int_equal(feeder_take(first, 2, &batch), -EAGAIN);
	assert_int_equal(first->next, 4);
	assert_int_equal(feeder_take(second, 3, &batch), 1);
	assert_non_null(batch.data);
	assert_int_equal(second->remaining, FEEDER_EPOCH - 3);
	bcast_reader_close(first);
	bcast_reader_close(second);
	bcast_close(ring);
}

/* Places of whole pages, and of whole huge pages where that is no eighth more. */
TEST(places_fill_whole_pages)
{
	static const struct {
		uint32_t places;
		size_t sample_bytes;
		uint32_t is;
	} sizes[] = {{10, 4096, 10},     {10, 12, 1024},  {10, 37, 4096},
		     {500, 602112, 512}, {3, 1 << 20, 3}, {5, 602112, 5}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct bcast_config config = feeder_config;
		struct bcast_ring *ring;

		config.places = sizes[i].places;
		config.batch = 1;
		config.sample_bytes = sizes[i].sample_bytes;
		ring = bcast_open(&config, NULL);
		assert_non_null(ring);
		assert_int_equal(bcast_places(ring), sizes[i].is);
		bcast_close(ring);
	}
}
