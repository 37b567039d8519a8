/* record.c - writes counters, steps and samples into the session. */
#include "loader/base/clock.h"
#include "loader/base/throttle.h"
#include "loader/cache.h"
#include "loader/driver/driver_state.h"
#include "loader/fetch.h"
#include "loader/pipeline.h"
#include "loader/ring.h"

/* Sample records of one window at the most, */
enum {
	WINDOW_SAMPLES = 8192, /* a real one; */
	CACHED_SAMPLES = 512,  /* a cached one, of one batch in so many: */
	CACHED_BATCHES = 4,
};

static void record_set(const struct driver *driver, enum trace_counter counter,
		       uint64_t value)
{
	atomic_store_explicit(&driver->process->counters[counter],
			      driver->before[counter] + value, memory_order_relaxed);
}

void record_counters(const struct driver *driver)
{
	const struct fetch *fetch;
	struct fetch_stats stats;

	if (follows(driver))
		return;
	fetch = pipeline_fetch(driver->parts.pipeline);
	fetch_stats(fetch, &stats);
	record_set(driver, TRACE_fetch_cpu_ns, stats.cpu_ns);
	record_set(driver, TRACE_prep_cpu_ns,
		   pipeline_prep_cpu(driver->parts.pipeline));
	if (driver->parts.throttle != NULL) {
		struct throttle_stats throttle;

		throttle_stats(driver->parts.throttle, &throttle);
		record_set(driver, TRACE_throttle_reads, throttle.reads);
		record_set(driver, TRACE_throttle_bytes, throttle.bytes);
		record_set(driver, TRACE_throttle_busy_ns, throttle.busy_ns);
	}
}

void record_snapshot(struct driver *driver, struct trace_snapshot *snapshot)
{
	struct cache_stats cache = {0};

	record_counters(driver);
	if (!follows(driver))
		cache_stats(driver->parts.cache, &cache);
	for (int i = 0; i < TRACE_COUNT; i++)
		snapshot->counters[i] = atomic_load_explicit(
			&driver->process->counters[i], memory_order_relaxed);
	snapshot->cache_bytes = cache.resident_bytes;
	io_counts_take(driver, snapshot);
	snapshot->cpu_ns = clock_process_cpu();
	snapshot->time_ns = clock_now();
}

/* A record takes in a step, or the record after it. */
static void record_merge(struct trace_step *record, const struct trace_step *next)
{
	record->end_ns = next->end_ns;
	record->blocked_ns += next->blocked_ns;
	record->steps += next->steps;
	record->samples += next->samples;
	if (next->longest_ns > record->longest_ns)
		record->longest_ns = next->longest_ns;
}

/* Halves the window's step records: each takes in the one after it. */
static void merge_steps(struct driver *driver)
{
	struct trace_window *window = driver->window;
	struct trace_step *steps = &driver->trace->steps[window->first_step];
	uint32_t pairs = window->step_records / 2;

	for (uint32_t i = 0; i < pairs; i++) {
		steps[i] = steps[2 * i];
		record_merge(&steps[i], &steps[2 * i + 1]);
	}
	window->step_records = pairs;
	driver->merge *= 2;
	atomic_store_explicit(&driver->trace->step_count, window->first_step + pairs,
			      memory_order_release);
}

/* Adds a step to the last record while that is not full; else begins one. */
static void store_step(struct driver *driver, const struct trace_step *step)
{
	struct trace_window *window = driver->window;
	struct trace *trace = driver->trace;
	uint32_t at = window->first_step + window->step_records;
	struct trace_step *last = at > 0 ? &trace->steps[at - 1] : NULL;

	if (window->step_records > 0 && last->steps < driver->merge) {
		record_merge(last, step);
		return;
	}
	if (window->step_records == TRACE_WINDOW_STEPS) {
		merge_steps(driver);
		at = window->first_step + window->step_records;
	}
	if (at >= TRACE_STEPS) {
		atomic_fetch_add(&trace->dropped_steps, 1);
		return;
	}
	trace->steps[at] = *step;
	window->step_records++;
	atomic_store_explicit(&trace->step_count, at + 1, memory_order_release);
}

void record_step(struct driver *driver, uint64_t now)
{
	struct trace_step *step = &driver->step;

	if (!driver->stepping)
		return;
	driver->stepping = false;
	if (driver->window == NULL || !driver->measuring)
		return;
	step->end_ns = now;
	step->longest_ns = now - step->request_ns - step->blocked_ns; /* compute */
	driver->window->steps++;
	driver->window->samples += step->samples;
	store_step(driver, step);
}

/* Appends a record; false when `most` of the window, or all there is room for, are. */
static bool store_sample(struct driver *driver, uint32_t most,
			 const struct pipeline_sample *sample)
{
	struct trace *trace = driver->trace;
	struct trace_window *window = driver->window;
	uint32_t at = atomic_load_explicit(&trace->sample_count, memory_order_relaxed);

	if (at >= TRACE_SAMPLES || window->sample_records >= most)
		return false;
	trace->samples[at] = (struct trace_sample){
		.window = driver->index,
		.batch = driver->batches,
		.sample = sample->sample,
		.bytes = sample->bytes,
		.fetch_ns = sample->fetch_ns,
		.prep_ns = sample->prep_ns,
	};
	window->sample_records++;
	atomic_store_explicit(&trace->sample_count, at + 1, memory_order_release);
	return true;
}

/* Returns how many there was room for. */
static uint32_t store_samples(struct driver *driver, uint32_t slot, uint32_t count,
			      uint32_t most)
{
	struct pipeline_sample sample;

	for (uint32_t i = 0; i < count; i++) {
		pipeline_sample_at(driver->parts.pipeline, slot, i, &sample);
		if (!store_sample(driver, most, &sample))
			return i;
	}
	return count;
}

/* Hits and misses of what was delivered; of real windows, by epoch. */
static void count_hits(struct driver *driver, uint32_t slot, uint32_t count)
{
	uint64_t epoch = ring_batch(driver->parts.ring, slot)->epoch;
	struct trace_epoch *entry =
		&driver->trace->epochs[epoch < TRACE_EPOCHS ? epoch : TRACE_EPOCHS - 1];
	uint64_t hits = 0, hit_bytes = 0, miss_bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct pipeline_sample sample;

		pipeline_sample_at(driver->parts.pipeline, slot, i, &sample);
		hits += sample.hit;
		hit_bytes += sample.hit ? sample.bytes : 0;
		miss_bytes += sample.hit ? 0 : sample.bytes;
	}
	trace_add(driver->process, TRACE_hit_samples, hits);
	trace_add(driver->process, TRACE_hit_bytes, hit_bytes);
	atomic_fetch_add_explicit(&entry->hits, hits, memory_order_relaxed);
	atomic_fetch_add_explicit(&entry->misses, count - hits, memory_order_relaxed);
	atomic_fetch_add_explicit(&entry->miss_bytes, miss_bytes, memory_order_relaxed);
}

void record_samples(struct driver *driver, uint32_t slot, uint32_t count)
{
	uint32_t stored = store_samples(driver, slot, count, WINDOW_SAMPLES);

	atomic_fetch_add(&driver->trace->dropped_samples, count - stored);
	count_hits(driver, slot, count);
}

/* A few say how long prep takes: the room is for real windows. */
void record_cached(struct driver *driver, uint32_t slot, uint32_t count)
{
	if (driver->measuring && driver->batches % CACHED_BATCHES == 0)
		store_samples(driver, slot, count, CACHED_SAMPLES);
}

void record_probes(struct driver *driver)
{
	struct pipeline_sample probes[PIPELINE_PROBES];
	uint32_t count = pipeline_probes(driver->parts.pipeline, probes);

	for (uint32_t i = 0; i < count; i++)
		store_sample(driver, count, &probes[i]);
}
