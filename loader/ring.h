/*
 * ring.h - finished batches of one process: one writer, one reader at a time.
 *
 *	memfd   +--------+--------+ .. +--------+   page aligned, faulted in once and
 *	        | slot 0 | slot 1 |    | slot n |   reused, so that they can be pinned
 *	        +--------+--------+ .. +--------+
 *
 * Labels and numbers of the samples lie in ordinary memory. With a device every slot has
 * a twin there (loader/gpu.h), and its labels once more, behind the samples, as they are
 * copied.
 *
 * Protocol. Batches have numbers 0, 1, 2 ... in delivery order. The writer takes a free
 * slot, fills it and its struct ring_batch, and publishes: order[number % slots] = slot,
 * then published = number + 1 (release), then a futex wake. A reader waits until
 * published passes its own next number, takes order[], reads the slot, and gives it back
 * by storing released[slot] = number + 1 (release). A slot is free again when the reader
 * has given back the batch it held, or when there is no reader. Nobody takes a lock.
 * Nothing is copied; to the device it is before it is published, and a slot is given
 * back when that is done.
 *
 * Of a struct ring the writer's side belongs to whoever holds the pipeline's lock;
 * a struct ring_reader to one thread at a time.
 */
#ifndef DSA_RING_H
#define DSA_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct batch_sink;
struct gpu;
struct gpu_batch;
struct ring;
struct ring_reader;

struct ring_shape {
	uint32_t slots;      /* 1..RING_SLOTS */
	uint32_t batch;      /* samples in a slot */
	size_t sample_bytes; /* prepared */
	struct gpu *gpu;     /* outlives the ring; NULL: none */
};

enum { RING_SLOTS = 256 };

/* What a slot holds; the writer fills it before it publishes. */
struct ring_batch {
	uint64_t number; /* + 1; 0 before the first. Set by ring_publish() */
	uint64_t epoch, step;
	uint32_t count;    /* samples */
	uint32_t repeated; /* 1: delivered before, or not part of the stream */
};

/* Makes the memory, faults it in, with huge pages where they can be had. */
struct ring *ring_open(const struct ring_shape *shape, struct error *err);
void ring_close(struct ring *ring);

bool ring_huge(const struct ring *ring);

/* The writer's side as the pipeline uses it; slots are the ring's. */
struct batch_sink *ring_outlet(struct ring *ring);

/* The writer's side. */
struct ring_batch *ring_batch(const struct ring *ring, uint32_t slot);
void *ring_sample(const struct ring *ring, uint32_t slot, uint32_t index);
uint32_t *ring_labels(const struct ring *ring, uint32_t slot);  /* batch numbers */
uint32_t *ring_samples(const struct ring *ring, uint32_t slot); /* batch numbers */

/* True when no reader holds the slot's last batch, or it never held one. */
bool ring_free(const struct ring *ring, uint32_t slot);
void ring_publish(struct ring *ring, uint32_t slot);

/* Copies the batch to the slot's twin, where there is one; before it is published, unless
 * the twin has it already. */
void ring_copy(struct ring *ring, uint32_t slot);

/* Whether the pipeline's batches are copied to no twin; at first they are. Called while the
 * pipeline rests, by one who drops the batches without a twin. */
void ring_in_memory(struct ring *ring, bool only);

/* The reader's side. NULL when memory is short. */
struct ring_reader *ring_join(struct ring *ring, struct error *err);
void ring_leave(struct ring_reader *reader);

/*
 * The next batch in order: 0 and its slot, or -EAGAIN when none was published within
 * timeout_ns (0: do not wait).
 */
int ring_take(struct ring_reader *reader, uint64_t timeout_ns, uint32_t *slot);

/* Gives back a slot that was taken, once it is copied. -EINVAL if it was not taken, or
 * twice. */
int ring_release(struct ring_reader *reader, uint32_t slot);

/* As gpu_twins_wait() and gpu_twins_release(), of a slot that is taken; the latter
 * before ring_release(). -EINVAL if it was not taken, or there is no device. */
int ring_device_wait(struct ring_reader *reader, uint32_t slot, void *stream,
		     struct gpu_batch *batch, struct error *err);
int ring_device_release(struct ring_reader *reader, uint32_t slot, void *stream,
			struct error *err);

/* Batches taken and not given back. */
unsigned ring_held(const struct ring_reader *reader);

#endif
