/* windows.c - the operations that the driver asks of a pipeline, and its batches. */
#include "loader/windows.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/throttle.h"
#include "loader/cache.h"
#include "loader/fetch.h"
#include "loader/gpu.h"
#include "loader/io_counts.h"
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/session_join.h"
#include "loader/source.h"
#include "loader/windows/windows_state.h"

#include <errno.h>
#include <stdlib.h>

#define REPEAT_NS (MS / 5) /* between two looks at whether there is room */

/* ---- states ---- */

static void windows_drain(void *loader)
{
	turn_end(loader);
}

static void windows_resume(void *loader)
{
	turn_real(loader);
}

static int windows_enter(void *loader, struct trace_window *window)
{
	struct windows *windows = loader;

	if (window->kind != TRACE_FILL)
		return turn_begin(windows, window);
	window->staged = pipeline_fill(windows->parts.pipeline,
				       windows->parts.trace->loader.cache_capacity,
				       window->limit_ns);
	return 0;
}

/* The pipeline works, and this thread waits: of unread files, which are not many, most
 * are left for the measured part. */
static void windows_work(void *loader, const struct trace_window *window,
			 uint64_t length_ns, bool measured)
{
	const struct windows *windows = loader;
	const _Atomic uint64_t *read =
		&windows->parts.process->counters[TRACE_fetched_samples];
	uint64_t most = window->kind == TRACE_FETCH ? turn_unread(windows) : UINT32_MAX;
	uint64_t end = clock_now() + length_ns;
	uint64_t last = *read + (measured ? most - most / 4 : most / 4);

	while (clock_now() < end && *read < last && !driver_stopped(&windows->driver)) {
		clock_sleep_until(clock_now() + 2 * MS);
		if (pipeline_status(windows->parts.pipeline, NULL) < 0)
			break;
	}
}

static uint64_t windows_ahead(void *loader)
{
	const struct windows *windows = loader;

	return pipeline_ahead(windows->parts.pipeline);
}

static void windows_leave(void *loader, struct trace_window *window)
{
	struct windows *windows = loader;

	window->staged_repeats = (uint32_t)pipeline_repeats(windows->parts.pipeline);
	if (window->kind == TRACE_FETCH)
		sample_records_add_probes(windows);
}

static void windows_keep_up(void *loader)
{
	const struct windows *windows = loader;

	if (windows->synthetic)
		windows->parts.repeat(windows->parts.context, windows->turn);
	clock_sleep_until(clock_now() + (windows->synthetic ? REPEAT_NS : MS));
}

/* ---- counters ---- */

static void windows_count_throttle(const struct windows *windows)
{
	struct throttle_stats throttle;

	throttle_stats(windows->parts.throttle, &throttle);
	driver_count(&windows->driver, TRACE_throttle_reads, throttle.reads);
	driver_count(&windows->driver, TRACE_throttle_bytes, throttle.bytes);
	driver_count(&windows->driver, TRACE_throttle_busy_ns, throttle.busy_ns);
}

static void windows_count(void *loader)
{
	const struct windows *windows = loader;
	struct fetch_stats stats;

	fetch_stats(pipeline_fetch(windows->parts.pipeline), &stats);
	driver_count(&windows->driver, TRACE_fetch_cpu_ns, stats.cpu_ns);
	driver_count(&windows->driver, TRACE_prep_cpu_ns,
		     pipeline_prep_cpu(windows->parts.pipeline));
	if (windows->parts.throttle != NULL)
		windows_count_throttle(windows);
	windows->parts.trace->loader.fetch_depth =
		pipeline_depth(windows->parts.pipeline);
}

static void windows_look(void *loader, struct trace_snapshot *snapshot)
{
	struct windows *windows = loader;
	struct cache_stats cache;

	cache_stats(windows->parts.cache, &cache);
	snapshot->cache_bytes = cache.resident_bytes;
	io_counts_take(&windows->driver, pipeline_fetch(windows->parts.pipeline),
		       snapshot);
}

static uint32_t windows_still(void *loader)
{
	const struct windows *windows = loader;

	return windows->parts.gpu != NULL ? gpu_idle_but_copies(windows->parts.gpu)
					  : gpu_idle();
}

static const struct driver_ops windows_ops = {
	.drain = windows_drain,
	.enter = windows_enter,
	.resume = windows_resume,
	.work = windows_work,
	.ahead = windows_ahead,
	.still = windows_still,
	.count = windows_count,
	.look = windows_look,
	.leave = windows_leave,
	.keep_up = windows_keep_up,
};

/* ---- opening ---- */

static bool windows_drive(struct windows *windows)
{
	const struct windows_parts *parts = &windows->parts;
	struct trace_loader about;
	struct driver_parts driver = {
		.trace = parts->trace,
		.process = parts->process,
		.ops = &windows_ops,
		.loader = windows,
		.about = &about,
		.same = session_join_continues(parts->trace, parts->options),
		.resumed = parts->reader != NULL,
	};
	uint64_t step;

	describe_loader(parts, &about);
	trace_add(parts->process, TRACE_listing_gets,
		  source_facts(parts->source)->requests);
	pipeline_position(parts->pipeline, &driver.epoch, &step);
	return driver_open(&windows->driver, &driver);
}

int windows_open(const struct windows_parts *parts, struct windows **opened,
		 struct error *err)
{
	struct windows *windows;

	*opened = NULL;
	if (parts->trace == NULL)
		return 0;
	windows = calloc(1, sizeof(*windows));
	if (windows == NULL)
		return error_sys(err, ENOMEM, "cannot drive the session");
	windows->parts = *parts;
	if (windows_drive(windows))
		*opened = windows;
	else
		free(windows);
	return 0;
}

void windows_close(struct windows *windows)
{
	if (windows == NULL)
		return;
	driver_close(&windows->driver);
	ring_leave(windows->pool_reader);
	ring_close(windows->pool);
	free(windows);
}

struct driver *windows_driver(struct windows *windows)
{
	return &windows->driver;
}

/* ---- batches ---- */

int windows_request(struct windows *windows)
{
	uint64_t now = clock_now(), epoch, step;

	pipeline_position(windows->parts.pipeline, &epoch, &step);
	return driver_request(&windows->driver, now, epoch);
}

void windows_delivered(struct windows *windows, uint32_t slot, uint32_t samples,
		       uint64_t blocked_ns)
{
	uint64_t epoch = 0;

	if (windows->metered)
		pipeline_credit(windows->parts.pipeline);
	if (!windows->synthetic) {
		epoch = ring_batch(windows->parts.ring, slot)->epoch;
		sample_records_add(windows, slot, samples);
	}
	driver_delivered(&windows->driver, samples, epoch, blocked_ns);
}
