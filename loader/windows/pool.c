/* pool.c - batches prepared once, for windows in which data costs nothing. */
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/windows/windows_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the last-level cache; sysfs says what this machine sees of a shared one. */
static size_t cache_bytes(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
	unsigned kilobytes = 0;

	if (file != NULL) {
		if (fscanf(file, "%uK", &kilobytes) != 1)
			kilobytes = 0;
		fclose(file);
	}
	return kilobytes > 0 ? (size_t)kilobytes << 10 : 64u << 20;
}

/*
 * Fewest batches that neither repeat soon nor fit the last-level cache, or that the
 * window asks for; and as many as the ring's, so that a program that holds as many as
 * it may always finds a free one.
 */
static uint32_t pool_size(const struct ring_shape *shape,
			  const struct trace_window *window)
{
	size_t batch = shape->sample_bytes * shape->batch;
	size_t want = 2 * cache_bytes() / batch + 1;
	uint32_t count;

	if (window->kind == TRACE_SYNTHETIC && window->stage > 0 &&
	    window->stage / shape->batch < want)
		want = window->stage / shape->batch;
	count = want < 8 ? 8 : want > 64 ? 64 : (uint32_t)want;
	return count > shape->slots ? count : shape->slots;
}

static void copy_batch(const struct windows *windows, uint32_t from, uint32_t to)
{
	struct ring *ring = windows->parts.ring;
	const struct ring_batch *batch = ring_batch(ring, from);
	size_t numbers = batch->count * sizeof(uint32_t);

	memcpy(ring_sample(windows->pool, to, 0), ring_sample(ring, from, 0),
	       batch->count * windows->parts.shape->sample_bytes);
	memcpy(ring_labels(windows->pool, to), ring_labels(ring, from), numbers);
	memcpy(ring_samples(windows->pool, to), ring_samples(ring, from), numbers);
	ring_batch(windows->pool, to)->count = batch->count;
	ring_batch(windows->pool, to)->epoch = batch->epoch;
	ring_batch(windows->pool, to)->step = batch->step;
	ring_batch(windows->pool, to)->repeated = 1;
}

/* Prepares the batches of the pool: the stream's next ones, which stay the next. */
static int fill_pool(struct windows *windows)
{
	const struct pipeline_turn turn = {.ops = &turn_pool};
	uint32_t filled = 0, slot;

	pipeline_stage(windows->parts.pipeline,
		       windows->pool_slots * windows->parts.shape->batch, 0);
	pipeline_start(windows->parts.pipeline, &turn);
	while (filled < windows->pool_slots && !driver_stopped(&windows->driver)) {
		if (ring_take(windows->parts.reader, 50 * MS, &slot) == 0) {
			copy_batch(windows, slot, filled++);
			ring_release(windows->parts.reader, slot);
			pipeline_released(windows->parts.pipeline);
		} else if (pipeline_status(windows->parts.pipeline, NULL) != 0) {
			break;
		}
	}
	return filled == windows->pool_slots ? 0 : -EBADMSG;
}

int pool_make(struct windows *windows)
{
	struct ring_shape shape = *windows->parts.shape;

	shape.slots = windows->pool_slots = pool_size(&shape, windows->driver.window);
	windows->pool = ring_open(&shape, NULL);
	if (windows->pool == NULL)
		return -ENOMEM;
	if (fill_pool(windows) == 0)
		windows->pool_reader = ring_join(windows->pool, NULL);
	if (windows->pool_reader != NULL)
		return 0;
	ring_close(windows->pool);
	windows->pool = NULL;
	return -EBADMSG;
}

struct ring_reader *windows_pool(struct windows *windows)
{
	if (!windows->synthetic)
		return NULL;
	for (uint32_t i = 0; i < windows->pool_slots; i++) {
		uint32_t slot = windows->pool_next++ % windows->pool_slots;

		if (!ring_free(windows->pool, slot))
			continue; /* the program still holds it */
		ring_publish(windows->pool, slot);
		return windows->pool_reader;
	}
	return NULL;
}

struct ring_reader *windows_pool_reader(const struct windows *windows)
{
	return windows->pool_reader;
}

struct ring *windows_pool_ring(const struct windows *windows)
{
	return windows->pool;
}
