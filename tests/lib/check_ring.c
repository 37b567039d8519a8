/* check_ring.c - writes samples into a ring, and checks what readers get. */
#include "tests/lib/check_ring.h"
#include "loader/base/random.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	WORDS = 32,
	BYTES = WORDS * sizeof(uint32_t),
	BATCH = 8,
	HANG = 20, /* seconds after which nobody comes any more */
	BAD_EVERY = 17,
};

const uint64_t check_hang_ns = HANG * UINT64_C(1000000000);

static bool bad(uint32_t sample)
{
	return sample % BAD_EVERY == 3;
}

static void fill(uint32_t *words, uint32_t sample, uint32_t stamp)
{
	words[0] = sample;
	words[1] = stamp;
	for (uint32_t w = 2; w < WORDS; w++)
		words[w] = (uint32_t)random_seed(sample, stamp, w);
}

/* Whether these are one sample's words, all of them. */
static bool whole(const uint32_t *words, uint32_t sample)
{
	if (words[0] != sample)
		return false;
	for (uint32_t w = 2; w < WORDS; w++)
		if (words[w] != (uint32_t)random_seed(sample, words[1], w))
			return false;
	return true;
}

/* ---- the writer ---- */

struct check_writer check_writer_of(uint32_t places, uint32_t samples)
{
	const struct bcast_config config = {
		.places = places,
		.slots = CHECK_SLOTS,
		.batch = BATCH,
		.sample_bytes = BYTES,
	};
	struct check_writer writer = {.ring = bcast_open(&config, NULL),
				      .samples = samples};

	assert_non_null(writer.ring);
	return writer;
}

static uint32_t free_slot(const struct check_writer *writer)
{
	for (uint32_t slot = 0; slot < CHECK_SLOTS; slot++) {
		bool used = false;

		for (uint32_t i = 0; i < writer->open; i++)
			used |= writer->fifo[i] == slot;
		if (!used)
			return slot;
	}
	return CHECK_SLOTS;
}

bool check_writer_begin(struct check_writer *writer, bool thrown)
{
	struct batch_sink *sink = bcast_sink(writer->ring);
	uint32_t slot = free_slot(writer), left = writer->samples - writer->next;
	uint32_t count = left < BATCH ? left : BATCH;

	if (slot == CHECK_SLOTS || !sink->ops->reserve(sink, slot, count, thrown))
		return false;
	writer->pieces[slot] = (struct check_piece){writer->next, count, thrown};
	writer->fifo[writer->open++] = slot;
	if (!thrown)
		writer->next = (writer->next + count) % writer->samples;
	return true;
}

static void pop(struct check_writer *writer)
{
	writer->open--;
	memmove(writer->fifo, writer->fifo + 1, writer->open * sizeof(*writer->fifo));
}

void check_writer_finish(struct check_writer *writer)
{
	struct batch_sink *sink = bcast_sink(writer->ring);
	uint32_t slot = writer->fifo[0], good = 0;
	const struct check_piece *piece = &writer->pieces[slot];
	struct batch_sink_batch batch = {.count = piece->count};
	struct batch_sink_sample list[BATCH];
	uint32_t hole = piece->count;

	for (uint32_t i = 0; i < piece->count; i++) {
		uint32_t sample = piece->position + i;
		uint32_t at = bad(sample) ? --hole : good++;

		list[at] = (struct batch_sink_sample){sample, sample, UINT64_MAX,
						      bad(sample)};
		if (!bad(sample))
			fill(sink->ops->sample(sink, slot, at), sample,
			     ++writer->stamp);
	}
	batch.good = good;
	pop(writer);
	if (piece->thrown) {
		sink->ops->discard(sink, slot);
		return;
	}
	sink->ops->publish(sink, slot, &batch, list);
	writer->shown = (piece->position + piece->count) % writer->samples;
}

void check_writer_rewind(struct check_writer *writer)
{
	struct batch_sink *sink = bcast_sink(writer->ring);

	sink->ops->rewind(sink);
	writer->open = 0;
	writer->next = writer->shown;
}

void check_writer_wait(struct check_writer *writer, const uint32_t *numbers,
		       unsigned count)
{
	struct pollfd events[BCAST_READERS];
	uint64_t value;

	for (unsigned i = 0; i < count; i++)
		events[i] = (struct pollfd){.fd = writer->readers[numbers[i]].event,
					    .events = POLLIN};
	assert_true(poll(events, count, HANG * 1000) > 0); /* a wake-up got lost */
	for (unsigned i = 0; i < count; i++)
		if (events[i].revents & POLLIN)
			(void)!read(events[i].fd, &value, sizeof(value));
}

/* ---- readers ---- */

void check_reader_open(const struct check_writer *writer, struct check_reader *reader,
		       uint64_t start)
{
	const struct bcast_handles *slot = &writer->readers[reader->slot];
	const struct bcast_reader_config config = {
		.memory = dup(bcast_fd(writer->ring)),
		.page = dup(slot->page),
		.event = dup(slot->event),
		.slot = reader->slot,
		.start = start,
		.epoch_places = writer->samples,
		.remaining = writer->samples,
	};

	reader->reader = bcast_reader_open(&config, NULL);
	assert_non_null(reader->reader);
}

void check_reader_join(struct check_writer *writer, struct check_reader *reader,
		       uint64_t start)
{
	struct bcast_handles slot;
	int number = bcast_attach(writer->ring, start, &slot, NULL);

	assert_true(number >= 0);
	writer->readers[number] = slot;
	*reader = (struct check_reader){.slot = (uint32_t)number,
					.samples = writer->samples};
	reader->seen = calloc(writer->samples, 1);
	assert_non_null(reader->seen);
	check_reader_open(writer, reader, start);
}

void check_reader_leave(struct check_reader *reader)
{
	bcast_reader_close(reader->reader);
	free(reader->seen);
	reader->reader = NULL;
	reader->seen = NULL;
}

static uint64_t hash_of(const struct check_reader *reader,
			const struct bcast_batch *batch, const uint32_t *samples)
{
	static _Thread_local uint32_t copy[CHECK_MOST * WORDS];
	const uint32_t *words = batch->data;

	if (words == NULL) {
		bcast_copy(reader->reader, batch, copy);
		words = copy;
	}
	for (uint32_t i = 0; samples != NULL && i < batch->count; i++)
		if (!whole(words + (size_t)i * WORDS, samples[i]))
			return 0;
	return XXH3_64bits(words, (size_t)batch->count * BYTES);
}

/* Once each in an epoch, but those that can't be read. */
static bool epoch_is_whole(struct check_reader *reader)
{
	bool is = true;

	for (uint32_t sample = 0; sample < reader->samples; sample++) {
		is &= reader->seen[sample] == !bad(sample);
		reader->seen[sample] = 0;
	}
	reader->epochs++;
	return is;
}

int check_reader_take(struct check_reader *reader, uint32_t count, uint64_t wait,
		      struct check_held *held)
{
	uint32_t labels[CHECK_MOST], samples[CHECK_MOST];
	int result = bcast_take(reader->reader, count, wait, &held->batch, labels,
				samples, NULL);

	if (result != 1)
		return result;
	held->hash = hash_of(reader, &held->batch, samples);
	if (held->hash == 0)
		return -EILSEQ;
	for (uint32_t i = 0; i < held->batch.count && !held->batch.repeated; i++)
		if (reader->seen[samples[i]]++ > 0)
			return -EILSEQ;
	if (held->batch.epoch_ends && !epoch_is_whole(reader))
		return -EILSEQ;
	return 1;
}

bool check_reader_unchanged(const struct check_reader *reader,
			    const struct check_held *held)
{
	return hash_of(reader, &held->batch, NULL) == held->hash;
}

bool check_reader_release(struct check_reader *reader, const struct check_held *held)
{
	return check_reader_unchanged(reader, held) &&
	       bcast_release(reader->reader, &held->batch) == 0;
}
