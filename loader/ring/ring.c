/* ring.c - slots for finished batches between the pipeline and its readers. */
#include "loader/ring.h"
#include "loader/base/error.h"
#include "loader/base/ipc/futex.h"
#include "loader/base/ipc/shared_memory.h"
#include "loader/batch_sink.h"
#include "loader/gpu.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct ring {
	struct batch_sink sink; /* first: the pipeline's view of it */
	struct ring_shape shape;
	struct shared_memory memory; /* the slots */
	size_t slot_bytes;           /* from slot to slot */
	size_t device_labels;        /* where they begin in a slot, int64 */
	struct gpu_twins *twins;     /* NULL: no device */
	struct ring_batch *batches;  /* of each slot, and: */
	uint32_t *labels, *samples;
	struct ring_reader *reader;
	bool in_memory;             /* the pipeline's batches have no twins */
	_Atomic uint64_t published; /* batches so far */
	_Atomic uint32_t bell;      /* futex: changes with each publish and wake */
	_Atomic uint32_t order[RING_SLOTS];
};

struct ring_reader {
	struct ring *ring;
	uint64_t next; /* number of the batch to take */
	unsigned held;
	bool taken[RING_SLOTS];
	_Atomic uint64_t released[RING_SLOTS];
};

/* False when the sizes overflow. */
static bool ring_lay_out(struct ring *ring, const struct ring_shape *shape,
			 size_t *bytes)
{
	size_t slot;

	if (shape->slots < 1 || shape->slots > RING_SLOTS || shape->batch < 1 ||
	    __builtin_mul_overflow(shape->sample_bytes, (size_t)shape->batch, &slot) ||
	    slot > SIZE_MAX / 2)
		return false;
	if (shape->gpu != NULL) {
		ring->device_labels = shared_round_up(slot, GPU_ALIGNED);
		slot = ring->device_labels + shape->batch * sizeof(int64_t);
	}
	slot = shared_round_up(slot, slot >= 2 * SHARED_HUGE_PAGE ? SHARED_HUGE_PAGE
								  : shared_page());
	ring->shape = *shape;
	ring->slot_bytes = slot;
	return !__builtin_mul_overflow(slot, (size_t)shape->slots, bytes) &&
	       *bytes <= SIZE_MAX / 2;
}

static int ring_make_memory(struct ring *ring, size_t bytes)
{
	const struct shared_memory_config config = {
		.name = "dsa-ring",
		.bytes = bytes,
		.huge_from = ring->slot_bytes % SHARED_HUGE_PAGE == 0 ? 0 : bytes,
	};
	size_t samples = (size_t)ring->shape.slots * ring->shape.batch;

	ring->batches = calloc(ring->shape.slots, sizeof(*ring->batches));
	ring->labels = calloc(samples, sizeof(*ring->labels));
	ring->samples = calloc(samples, sizeof(*ring->samples));
	if (ring->batches == NULL || ring->labels == NULL || ring->samples == NULL)
		return -ENOMEM;
	return shared_memory_make(&ring->memory, &config);
}

static int ring_make_twins(struct ring *ring, struct error *err)
{
	const struct gpu_slots slots = {
		.start = ring->memory.start,
		.slot_bytes = ring->slot_bytes,
		.labels = ring->device_labels,
		.count = ring->shape.slots,
	};

	if (ring->shape.gpu == NULL)
		return 0;
	ring->twins = gpu_twins_open(ring->shape.gpu, &slots, err);
	return ring->twins != NULL ? 0 : -1;
}

struct ring *ring_open(const struct ring_shape *shape, struct error *err)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	size_t bytes;
	int result;

	if (ring == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot make the ring"));
	ring->memory.fd = -1;
	if (!ring_lay_out(ring, shape, &bytes)) {
		error_set(err, EINVAL,
			  "a ring of %u slots of %u x %zu bytes is too big",
			  shape->slots, shape->batch, shape->sample_bytes);
		goto fail;
	}
	result = ring_make_memory(ring, bytes);
	if (result < 0)
		shared_memory_fail(err, result, bytes, "smaller --batch or --prefetch");
	else if (ring_make_twins(ring, err) == 0)
		return ring;
fail:
	ring_close(ring);
	return NULL;
}

void ring_close(struct ring *ring)
{
	if (ring == NULL)
		return;
	gpu_twins_close(ring->twins);
	shared_memory_free(&ring->memory);
	free(ring->batches);
	free(ring->labels);
	free(ring->samples);
	free(ring);
}

bool ring_huge(const struct ring *ring)
{
	return ring->memory.huge;
}

struct ring_batch *ring_batch(const struct ring *ring, uint32_t slot)
{
	return &ring->batches[slot];
}

void *ring_sample(const struct ring *ring, uint32_t slot, uint32_t index)
{
	return (char *)ring->memory.start + slot * ring->slot_bytes +
	       index * ring->shape.sample_bytes;
}

uint32_t *ring_labels(const struct ring *ring, uint32_t slot)
{
	return ring->labels + (size_t)slot * ring->shape.batch;
}

uint32_t *ring_samples(const struct ring *ring, uint32_t slot)
{
	return ring->samples + (size_t)slot * ring->shape.batch;
}

bool ring_free(const struct ring *ring, uint32_t slot)
{
	uint64_t number = ring_batch(ring, slot)->number;
	const struct ring_reader *reader = ring->reader;

	/* number is that of the last batch + 1, and 0 before the first. */
	return number == 0 || reader == NULL ||
	       atomic_load_explicit(&reader->released[slot], memory_order_acquire) >=
		       number;
}

/* Wakes a reader that waits in ring_take(): it returns -EAGAIN. */
static void ring_wake(struct ring *ring)
{
	atomic_fetch_add(&ring->bell, 1);
	futex_wake(&ring->bell);
}

void ring_publish(struct ring *ring, uint32_t slot)
{
	uint64_t number = atomic_load_explicit(&ring->published, memory_order_relaxed);

	ring_batch(ring, slot)->number = number + 1;
	atomic_store_explicit(&ring->order[number % ring->shape.slots], slot,
			      memory_order_relaxed);
	atomic_store_explicit(&ring->published, number + 1, memory_order_release);
	ring_wake(ring);
}

void ring_copy(struct ring *ring, uint32_t slot)
{
	const uint32_t *labels = ring_labels(ring, slot);
	uint32_t count = ring_batch(ring, slot)->count;
	int64_t *copied = (int64_t *)((char *)ring->memory.start +
				      slot * ring->slot_bytes + ring->device_labels);

	if (ring->twins == NULL)
		return;
	for (uint32_t i = 0; i < count; i++)
		copied[i] = labels[i];
	gpu_twins_copy(ring->twins, slot, count);
}

void ring_in_memory(struct ring *ring, bool only)
{
	ring->in_memory = only;
}

/* ---- the pipeline's sink ---- */

static struct ring *ring_of(struct batch_sink *sink)
{
	return (struct ring *)sink;
}

/* A slot always has room for a full batch. */
static bool ring_reserve(struct batch_sink *sink, uint32_t slot, uint32_t count,
			 bool thrown)
{
	(void)count;
	(void)thrown;
	return ring_free(ring_of(sink), slot);
}

static void *ring_place(struct batch_sink *sink, uint32_t slot, uint32_t index)
{
	return ring_sample(ring_of(sink), slot, index);
}

static void ring_publish_slot(struct batch_sink *sink, uint32_t slot,
			      const struct batch_sink_batch *batch,
			      const struct batch_sink_sample *samples)
{
	struct ring *ring = ring_of(sink);
	struct ring_batch *shared = ring_batch(ring, slot);
	uint32_t *labels = ring_labels(ring, slot), *numbers = ring_samples(ring, slot);

	for (uint32_t i = 0; i < batch->good; i++) {
		numbers[i] = samples[i].sample;
		labels[i] = samples[i].label;
	}
	shared->epoch = batch->epoch;
	shared->step = batch->step;
	shared->count = batch->good;
	shared->repeated = batch->repeated;
	if (!ring->in_memory)
		ring_copy(ring, slot);
	ring_publish(ring, slot);
}

/* What was never published is free. */
static void ring_discard(struct batch_sink *sink, uint32_t slot)
{
	(void)sink;
	(void)slot;
}

static void rewind_nothing(struct batch_sink *sink)
{
	(void)sink;
}

static void ring_wake_all(struct batch_sink *sink)
{
	ring_wake(ring_of(sink));
}

static const struct batch_sink_ops ops = {
	.reserve = ring_reserve,
	.sample = ring_place,
	.publish = ring_publish_slot,
	.discard = ring_discard,
	.rewind = rewind_nothing,
	.wake = ring_wake_all,
};

struct batch_sink *ring_outlet(struct ring *ring)
{
	ring->sink.ops = &ops;
	return &ring->sink;
}

struct ring_reader *ring_join(struct ring *ring, struct error *err)
{
	struct ring_reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot join the ring"));
	reader->ring = ring;
	reader->next = atomic_load(&ring->published);
	ring->reader = reader;
	return reader;
}

void ring_leave(struct ring_reader *reader)
{
	if (reader == NULL)
		return;
	reader->ring->reader = NULL;
	free(reader);
}

static bool ring_ready(const struct ring_reader *reader)
{
	return atomic_load_explicit(&reader->ring->published, memory_order_acquire) >
	       reader->next;
}

int ring_take(struct ring_reader *reader, uint64_t timeout_ns, uint32_t *slot)
{
	struct ring *ring = reader->ring;
	uint32_t bell = atomic_load(&ring->bell);

	if (!ring_ready(reader) && timeout_ns > 0)
		futex_wait(&ring->bell, bell, timeout_ns);
	if (!ring_ready(reader))
		return -EAGAIN;
	*slot = atomic_load_explicit(&ring->order[reader->next % ring->shape.slots],
				     memory_order_relaxed);
	reader->next++;
	reader->taken[*slot] = true;
	reader->held++;
	return 0;
}

int ring_release(struct ring_reader *reader, uint32_t slot)
{
	if (slot >= reader->ring->shape.slots || !reader->taken[slot])
		return -EINVAL;
	if (reader->ring->twins != NULL)
		gpu_twins_finish(reader->ring->twins, slot);
	reader->taken[slot] = false;
	reader->held--;
	atomic_store_explicit(&reader->released[slot],
			      ring_batch(reader->ring, slot)->number,
			      memory_order_release);
	return 0;
}

/* Its twin can be asked for. */
static bool ring_on_device(const struct ring_reader *reader, uint32_t slot)
{
	return slot < reader->ring->shape.slots && reader->taken[slot] &&
	       reader->ring->twins != NULL;
}

int ring_device_wait(struct ring_reader *reader, uint32_t slot, void *stream,
		     struct gpu_batch *batch, struct error *err)
{
	return ring_on_device(reader, slot)
		       ? gpu_twins_wait(reader->ring->twins, slot, stream, batch, err)
		       : -EINVAL;
}

int ring_device_release(struct ring_reader *reader, uint32_t slot, void *stream,
			struct error *err)
{
	return ring_on_device(reader, slot)
		       ? gpu_twins_release(reader->ring->twins, slot, stream, err)
		       : -EINVAL;
}

unsigned ring_held(const struct ring_reader *reader)
{
	return reader->held;
}
