/* pool.c - batches prepared once, for windows in which data costs nothing. */
#include "loader/base/error.h"
#include "loader/gpu.h"
#include "loader/options.h"
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
 * it may always finds a free one. A program on a device does not read them through that
 * cache, and their twins would take memory there that it wants itself.
 */
static uint32_t pool_size(const struct ring_shape *shape,
			  const struct trace_window *window)
{
	size_t batch = shape->sample_bytes * shape->batch;
	size_t want = shape->gpu != NULL ? 0 : 2 * cache_bytes() / batch + 1;
	uint32_t count;

	if ((window->kind == TRACE_SYNTHETIC || window->kind == TRACE_COPIED) &&
	    window->stage > 0 && window->stage / shape->batch < want)
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
	ring_copy(windows->pool, to);
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

/* Copies of the pool are to be what the ring's are. */
static bool pool_is_pinned(const struct windows *windows)
{
	const struct gpu *gpu = windows->parts.gpu;

	return gpu == NULL || !gpu_facts(gpu).unpinned ||
	       windows->parts.trace->loader.unpinned;
}

static int pool_open_ring(struct windows *windows, struct error *err)
{
	struct ring_shape shape = *windows->parts.shape;

	shape.slots = windows->pool_slots = pool_size(&shape, windows->driver.window);
	windows->pool = ring_open(&shape, err);
	if (windows->pool == NULL)
		return -ENOMEM;
	if (!pool_is_pinned(windows))
		return error_set(err, ENOMEM,
				 "device: memory of the ring could be registered, that "
				 "of %u batches beside it not",
				 shape.slots);
	if (fill_pool(windows) == 0)
		windows->pool_reader = ring_join(windows->pool, NULL);
	return windows->pool_reader != NULL ? 0 : -EBADMSG;
}

int pool_make(struct windows *windows)
{
	struct error err = {0};
	int result = pool_open_ring(windows, &err);

	if (result == 0)
		return 0;
	snprintf(windows->parts.trace->pool_why, TRACE_WHY, "%.*s", TRACE_WHY - 1,
		 err.message);
	ring_close(windows->pool);
	windows->pool = NULL;
	return result;
}

/* ---- batches that are ready ---- */

static bool pool_is_ahead(const struct windows *windows, uint32_t slot)
{
	for (uint32_t i = 0; i < windows->ahead_count; i++)
		if (windows->ahead[(windows->ahead_first + i) % RING_SLOTS] == slot)
			return true;
	return false;
}

/* The next one that nobody has; false: the program holds all of them. */
static bool pool_find(struct windows *windows, uint32_t *slot)
{
	for (uint32_t i = 0; i < windows->pool_slots; i++) {
		*slot = windows->pool_next++ % windows->pool_slots;
		if (ring_free(windows->pool, *slot) && !pool_is_ahead(windows, *slot))
			return true;
	}
	return false;
}

/* The next one of those that are copied as far ahead as the pipeline would. */
static bool pool_find_copied(struct windows *windows, uint32_t *slot)
{
	uint32_t most = windows->parts.options->prefetch + 1;

	while (windows->ahead_count < most && pool_find(windows, slot)) {
		uint32_t last = windows->ahead_first + windows->ahead_count++;

		ring_copy(windows->pool, *slot);
		windows->ahead[last % RING_SLOTS] = *slot;
	}
	if (windows->ahead_count == 0)
		return false;
	*slot = windows->ahead[windows->ahead_first++ % RING_SLOTS];
	windows->ahead_count--;
	return true;
}

struct ring_reader *windows_pool(struct windows *windows)
{
	uint32_t slot;

	if (!windows->synthetic)
		return NULL;
	if (!(windows->copies ? pool_find_copied(windows, &slot)
			      : pool_find(windows, &slot)))
		return NULL;
	ring_publish(windows->pool, slot);
	return windows->pool_reader;
}

struct ring_reader *windows_pool_reader(const struct windows *windows)
{
	return windows->pool_reader;
}

struct ring *windows_pool_ring(const struct windows *windows)
{
	return windows->pool;
}
