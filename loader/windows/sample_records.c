/* sample_records.c - records what fetch and prep took for samples of windows. */
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/windows/windows_state.h"

/* Sample records of one window at the most, */
enum {
	WINDOW_SAMPLES = 8192, /* a real one; */
	CACHED_SAMPLES = 512,  /* a cached one, of one batch in so many: */
	CACHED_BATCHES = 4,
};

static bool store_sample(struct windows *windows, uint32_t most,
			 const struct pipeline_sample *sample)
{
	const struct trace_sample record = {
		.sample = sample->sample,
		.bytes = sample->bytes,
		.fetch_ns = sample->fetch_ns,
		.prep_ns = sample->prep_ns,
	};

	return driver_record_sample(&windows->driver, most, &record);
}

/* Returns how many there was room for. */
static uint32_t store_samples(struct windows *windows, uint32_t slot, uint32_t count,
			      uint32_t most)
{
	struct pipeline_sample sample;

	for (uint32_t i = 0; i < count; i++) {
		pipeline_sample_at(windows->parts.pipeline, slot, i, &sample);
		if (!store_sample(windows, most, &sample))
			return i;
	}
	return count;
}

/* Hits and misses of what was delivered; of real windows, by epoch. */
static void count_hits(const struct windows *windows, uint32_t slot, uint32_t count)
{
	uint64_t epoch = ring_batch(windows->parts.ring, slot)->epoch;
	struct trace_epoch *entry =
		&windows->parts.trace
			 ->epochs[epoch < TRACE_EPOCHS ? epoch : TRACE_EPOCHS - 1];
	uint64_t hits = 0, hit_bytes = 0, miss_bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct pipeline_sample sample;

		pipeline_sample_at(windows->parts.pipeline, slot, i, &sample);
		hits += sample.hit;
		hit_bytes += sample.hit ? sample.bytes : 0;
		miss_bytes += sample.hit ? 0 : sample.bytes;
	}
	trace_add(windows->parts.process, TRACE_hit_samples, hits);
	trace_add(windows->parts.process, TRACE_hit_bytes, hit_bytes);
	atomic_fetch_add_explicit(&entry->hits, hits, memory_order_relaxed);
	atomic_fetch_add_explicit(&entry->misses, count - hits, memory_order_relaxed);
	atomic_fetch_add_explicit(&entry->miss_bytes, miss_bytes, memory_order_relaxed);
}

static void record_samples(struct windows *windows, uint32_t slot, uint32_t count)
{
	uint32_t stored = store_samples(windows, slot, count, WINDOW_SAMPLES);

	atomic_fetch_add(&windows->parts.trace->dropped_samples, count - stored);
	count_hits(windows, slot, count);
}

void sample_records_add(struct windows *windows, uint32_t slot, uint32_t count)
{
	const struct driver *driver = &windows->driver;

	if (driver->window == NULL)
		return;
	if (driver->window->kind == TRACE_REAL)
		record_samples(windows, slot, count);
	/* A few say how long prep takes: the room is for real windows. */
	if (driver->window->kind == TRACE_CACHED && driver->measuring &&
	    driver->batches % CACHED_BATCHES == 0)
		store_samples(windows, slot, count, CACHED_SAMPLES);
}

void sample_records_add_probes(struct windows *windows)
{
	struct pipeline_sample probes[PIPELINE_PROBES];
	uint32_t count = pipeline_probes(windows->parts.pipeline, probes);

	for (uint32_t i = 0; i < count; i++)
		store_sample(windows, count, &probes[i]);
}
