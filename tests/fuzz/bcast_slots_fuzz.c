/*
 * bcast_slots_fuzz.c - readers that write whatever they like to their pages: the writer
 * goes on, and one that behaves keeps what it holds.
 *
 * The input is a row of steps of 2 bytes, what to do and how; a step that writes to a
 * page has the 8 bytes after them.
 */
#include "loader/share/ring/bcast_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLACES = 32, SLOTS = 3, BATCH = 6, BYTES = 128, READERS = 5, WORDS = 8 };

struct fuzz_slots {
	struct bcast_ring *ring;
	struct batch_sink *sink;
	uint32_t first, open;                 /* slots of the pipeline */
	uint32_t count[SLOTS], thrown[SLOTS]; /* what is reserved in them */
	struct bcast_reader *reader;          /* behaves; reads slot 0 */
	struct bcast_batch held;              /* count 0: nothing */
	uint64_t tail, released[READERS];
	unsigned char stamp;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void slots_check(bool right)
{
	if (!right)
		abort();
}

static void slots_reserve(struct fuzz_slots *slots, unsigned how)
{
	uint32_t slot = (slots->first + slots->open) % SLOTS, count = 1 + how % BATCH;
	bool thrown = how >= 224;

	if (slots->open == SLOTS ||
	    !slots->sink->ops->reserve(slots->sink, slot, count, thrown))
		return;
	slots->count[slot] = count;
	slots->thrown[slot] = thrown;
	slots->open++;
	for (uint32_t at = 0; at < count; at++)
		memset(slots->sink->ops->sample(slots->sink, slot, at), ++slots->stamp,
		       BYTES);
}

static void slots_finish(struct fuzz_slots *slots, unsigned how)
{
	uint32_t slot = slots->first;
	struct batch_sink_batch batch = {.count = slots->count[slot]};
	struct batch_sink_sample samples[BATCH];

	if (slots->open == 0)
		return;
	for (uint32_t at = 0; at < batch.count; at++)
		samples[at] = (struct batch_sink_sample){
			.sample = at, .readers = UINT64_MAX, .hole = at < how % 4};
	if (slots->thrown[slot])
		slots->sink->ops->discard(slots->sink, slot);
	else
		slots->sink->ops->publish(slots->sink, slot, &batch, samples);
	slots->first = (slot + 1) % SLOTS;
	slots->open--;
}

/* Takes a batch, or gives it back: nobody has changed it. */
static void slots_read(struct fuzz_slots *slots, unsigned how)
{
	uint32_t labels[BATCH], samples[BATCH];
	int result;

	if (slots->held.count > 0) {
		slots_check(bcast_release(slots->reader, &slots->held) == 0);
		slots->held.count = 0;
		return;
	}
	result = bcast_take(slots->reader, 1 + how % BATCH, 0, &slots->held, labels,
			    samples, NULL);
	slots_check(result == 1 || result == -EAGAIN ||
		    (result == -ENOLINK && slots->ring->readers[0].dropped));
	if (result != 1)
		slots->held.count = 0;
}

static void slots_attach(const struct fuzz_slots *slots, unsigned how)
{
	struct bcast_handles handles;

	if (!slots->ring->readers[READERS - 1].taken)
		bcast_attach(slots->ring, bcast_tail(slots->ring) + how, &handles,
			     NULL);
}

static void slots_scribble(const struct fuzz_slots *slots, unsigned how,
			   const uint8_t *word)
{
	const struct bcast_reader_slot *slot =
		&slots->ring->readers[1 + how / WORDS % (READERS - 1)];

	if (slot->taken)
		memcpy((char *)slot->page.start + how % WORDS * sizeof(uint64_t), word,
		       sizeof(uint64_t));
}

static void slots_leave(const struct fuzz_slots *slots, unsigned how)
{
	uint32_t slot = how == 255 ? 0 : 1 + how % (READERS - 1);

	if (!slots->ring->readers[slot].taken)
		return;
	if (how >= 128)
		bcast_drop(slots->ring, slot);
	else
		bcast_detach(slots->ring, slot);
}

static void slots_look(struct fuzz_slots *slots)
{
	uint64_t tail = bcast_tail(slots->ring);
	struct bcast_reader_state state;

	slots_check(tail >= slots->tail && tail <= bcast_published(slots->ring));
	slots_check(slots->held.count == 0 || slots->ring->readers[0].dropped ||
		    tail <= slots->held.first);
	slots->tail = tail;
	for (uint32_t i = 0; i < READERS; i++) {
		const struct bcast_reader_slot *slot = &slots->ring->readers[i];

		bcast_reader_state(slots->ring, i, &state);
		slots_check(!slot->taken || state.released >= slots->released[i]);
		slots_check(state.released <= bcast_published(slots->ring) ||
			    state.released == slot->start);
		slots_check(state.batches <= bcast_published(slots->ring));
		slots->released[i] = state.released;
	}
}

static void slots_step(struct fuzz_slots *slots, const uint8_t *step)
{
	switch (step[0] % 8) {
	case 0:
		slots_reserve(slots, step[1]);
		break;
	case 1:
		slots_finish(slots, step[1]);
		break;
	case 2:
		slots_read(slots, step[1]);
		break;
	case 3:
		slots_attach(slots, step[1]);
		break;
	case 4:
		slots_leave(slots, step[1]);
		break;
	case 5:
		bcast_repeat(slots->ring, step[1] % BATCH, 0);
		break;
	case 6:
		slots->sink->ops->rewind(slots->sink);
		slots->open = 0;
		break;
	default:
		slots_scribble(slots, step[1], step + 2);
	}
	slots_look(slots);
}

static void slots_open(struct fuzz_slots *slots)
{
	const struct bcast_config config = {.places = PLACES,
					    .slots = SLOTS,
					    .batch = BATCH,
					    .sample_bytes = BYTES,
					    .audit = true};
	struct bcast_handles handles;
	struct bcast_reader_config reader = {
		.epoch_places = 50, .remaining = 50, .audit = true};

	slots->ring = bcast_open(&config, NULL);
	slots_check(slots->ring != NULL);
	slots_check(bcast_attach(slots->ring, 0, &handles, NULL) == 0);
	slots->sink = bcast_sink(slots->ring);
	reader.memory = dup(bcast_fd(slots->ring));
	reader.page = dup(handles.page);
	reader.event = dup(handles.event);
	slots->reader = bcast_reader_open(&reader, NULL);
	slots_check(slots->reader != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_slots slots = {0};

	slots_open(&slots);
	while (size >= 2) {
		size_t bytes = data[0] % 8 == 7 ? 2 + sizeof(uint64_t) : 2;

		if (bytes > size)
			break;
		slots_step(&slots, data);
		data += bytes;
		size -= bytes;
	}
	bcast_reader_close(slots.reader);
	bcast_close(slots.ring);
	return 0;
}
