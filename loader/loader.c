/* loader.c - libdsa's public interface: puts the parts together and hands out batches.
 */
#include "loader/loader.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "loader/cache.h"
#include "loader/driver.h"
#include "loader/fetch.h"
#include "loader/options.h"
#include "loader/pipeline.h"
#include "loader/prep.h"
#include "loader/ring.h"
#include "loader/source.h"
#include "loader/throttle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Batches that the program may hold beyond those prepared ahead: its current one, and
 * one that is being filled meanwhile. */
enum { SPARE_SLOTS = 2 };

struct dsa_loader {
	struct options options;
	pid_t pid; /* of the process that opened it */
	struct source *source;
	struct cache *cache;
	struct prep *prep;
	struct ring_shape shape;
	struct ring *ring;
	struct ring_reader *reader;
	struct throttle *throttle;
	struct pipeline *pipeline;
	struct trace *trace;           /* NULL: no session */
	struct trace_process *process; /* in the session, or own_process */
	struct trace_process *own_process;
	struct driver *driver; /* NULL: not ours to drive, or not asked yet */
	bool asked;            /* for a batch */
	uint64_t number;       /* of the next batch */
	uint64_t delivered_ns[2 * RING_SLOTS]; /* when a slot's batch was delivered */
	struct error failure;
};

/* ---- opening ---- */

/* Names skipped samples in the session. Called with the pipeline's lock held. */
static void tell_skip(void *context, uint32_t sample, int code, const char *reason)
{
	const struct dsa_loader *loader = context;

	driver_skip(loader->trace, loader->source, sample, code, reason);
}

static int open_session(struct dsa_loader *loader, struct error *err)
{
	const char *path = getenv("DSA_SESSION");

	loader->own_process = calloc(1, sizeof(*loader->own_process));
	if (loader->own_process == NULL)
		return error_sys(err, ENOMEM, "cannot open the loader");
	loader->process = loader->own_process;
	if (path == NULL || *path == '\0')
		return 0;
	loader->trace = trace_map(path, true, err);
	if (loader->trace == NULL && err->code == ENOENT) { /* its run is over */
		*err = (struct error){0};
		return 0;
	}
	if (loader->trace == NULL)
		return error_within(err, -EINVAL, "DSA_SESSION");
	loader->process = trace_claim(loader->trace);
	if (loader->process == NULL) { /* too many loaders: this one goes unseen */
		trace_unmap(loader->trace);
		loader->trace = NULL;
		loader->process = loader->own_process;
	} else {
		loader->process->role = 2;
	}
	return 0;
}

static int open_source(struct dsa_loader *loader, struct error *err)
{
	const struct source_config config = {.seed = loader->options.seed};
	struct options *options = &loader->options;

	loader->source = source_open(options->dataset, &config, err);
	if (loader->source == NULL)
		return -err->code;
	if (options->cache_share > 0)
		options->cache_bytes = (uint64_t)(options->cache_share *
						  (double)source_bytes(loader->source));
	loader->cache = cache_open(options->cache, source_count(loader->source),
				   options->cache_bytes, err);
	return loader->cache != NULL ? 0 : -err->code;
}

static int open_prep(struct dsa_loader *loader, struct error *err)
{
	struct options *options = &loader->options;

	loader->prep = prep_open(&options->image, err);
	if (loader->prep == NULL)
		return -err->code;
	loader->shape = (struct ring_shape){
		.slots = options->prefetch + SPARE_SLOTS,
		.batch = options->batch,
		.sample_bytes = prep_sample_bytes(loader->prep),
	};
	loader->ring = ring_open(&loader->shape, err);
	if (loader->ring == NULL)
		return -err->code;
	loader->reader = ring_join(loader->ring, err);
	return loader->reader != NULL ? 0 : -err->code;
}

static int open_pipeline(struct dsa_loader *loader, struct error *err)
{
	const struct options *options = &loader->options;
	const struct pipeline_turn stream = {.mode = PIPELINE_STREAM};
	struct pipeline_parts parts = {
		.options = options,
		.source = loader->source,
		.cache = loader->cache,
		.prep = loader->prep,
		.ring = loader->ring,
		.slots = loader->shape.slots,
		.process = loader->process,
	};

	if (options->storage_bandwidth > 0 || options->storage_latency > 0) {
		loader->throttle = throttle_new(options->storage_bandwidth,
						options->storage_latency);
		if (loader->throttle == NULL)
			return error_sys(err, ENOMEM, "cannot open the throttle");
	}
	parts.throttle = loader->throttle;
	loader->pipeline = pipeline_open(&parts, err);
	if (loader->pipeline == NULL)
		return -err->code;
	if (loader->trace != NULL)
		pipeline_on_skip(loader->pipeline, tell_skip, loader);
	pipeline_start(loader->pipeline, &stream);
	return 0;
}

static int open_parts(struct dsa_loader *loader, const struct dsa_config *config,
		      struct error *err)
{
	int result =
		options_resolve(&loader->options, config, getenv("DSA_LOADER"), err);

	if (result == 0)
		result = open_session(loader, err);
	if (result == 0)
		result = open_source(loader, err);
	if (result == 0)
		result = open_prep(loader, err);
	if (result == 0)
		result = open_pipeline(loader, err);
	return result;
}

EXPORT int dsa_open(const struct dsa_config *config, struct dsa_loader **opened,
		    char *why)
{
	struct dsa_loader *loader = calloc(1, sizeof(*loader));
	struct error err = {0};
	int result;

	if (loader == NULL) {
		if (why != NULL)
			snprintf(why, DSA_WHY, "cannot open the loader: no memory");
		return -ENOMEM;
	}
	loader->pid = getpid();
	result = open_parts(loader, config, &err);
	if (result == 0) {
		*opened = loader;
		return 0;
	}
	dsa_close(loader);
	if (why != NULL)
		snprintf(why, DSA_WHY, "%.255s", err.message);
	return result;
}

EXPORT void dsa_close(struct dsa_loader *loader)
{
	/* A forked child has no threads to stop, and the memory is the parent's too. */
	if (loader == NULL || loader->pid != getpid())
		return;
	driver_close(loader->driver);
	pipeline_close(loader->pipeline);
	throttle_free(loader->throttle);
	ring_leave(loader->reader);
	ring_close(loader->ring);
	prep_close(loader->prep);
	cache_close(loader->cache);
	source_close(loader->source);
	trace_unmap(loader->trace);
	free(loader->own_process);
	free(loader);
}

/* ---- batches ---- */

static int start_driving(struct dsa_loader *loader)
{
	const struct driver_parts parts = {
		.trace = loader->trace,
		.process = loader->process,
		.options = &loader->options,
		.source = loader->source,
		.pipeline = loader->pipeline,
		.cache = loader->cache,
		.throttle = loader->throttle,
		.ring = loader->ring,
		.reader = loader->reader,
		.shape = &loader->shape,
	};
	struct error err = {0};

	loader->asked = true;
	if (loader->trace == NULL)
		return 0;
	loader->driver = driver_open(&parts, &err);
	if (err.code != 0)
		loader->failure = err;
	return -err.code;
}

/* Waits for the next batch of the loader's own ring: 1, 0 at the end, -errno. */
static int wait_batch(struct dsa_loader *loader, uint32_t *slot)
{
	for (uint64_t wait = 0;; wait = 100000000) {
		int status;

		if (ring_take(loader->reader, wait, slot) == 0)
			return 1;
		status = pipeline_status(loader->pipeline, &loader->failure);
		if (status != 0 && ring_take(loader->reader, 0, slot) == 0)
			return 1;
		if (status != 0)
			return status < 0 ? status : 0;
		if (loader->driver != NULL && driver_stopped(loader->driver))
			return 0;
	}
}

static void show(struct dsa_loader *loader, struct ring *ring, uint32_t slot,
		 struct dsa_batch *batch)
{
	const struct ring_batch *shared = ring_batch(ring, slot);
	bool pooled = ring != loader->ring;

	*batch = (struct dsa_batch){
		.data = ring_sample(ring, slot, 0),
		.labels = ring_labels(ring, slot),
		.samples = ring_samples(ring, slot),
		.sample_bytes = loader->shape.sample_bytes,
		.count = shared->count,
		.slot = pooled ? loader->shape.slots + slot : slot,
		.epoch = shared->epoch,
		.step = shared->step,
		.number = loader->number++,
		.repeated = shared->repeated,
	};
}

static int take(struct dsa_loader *loader, struct dsa_batch *batch)
{
	struct ring_reader *pool =
		loader->driver != NULL ? driver_pool(loader->driver) : NULL;
	uint64_t asked = clock_now(), now;
	uint32_t slot;

	if (pool != NULL) {
		ring_take(pool, 0, &slot);
		show(loader, driver_pool_ring(loader->driver), slot, batch);
	} else {
		int result = wait_batch(loader, &slot);

		if (result <= 0)
			return result;
		pipeline_delivered(loader->pipeline, slot);
		show(loader, loader->ring, slot, batch);
	}
	now = clock_now();
	loader->delivered_ns[batch->slot] = now;
	trace_add(loader->process, TRACE_blocked_ns, now - asked);
	trace_add(loader->process, TRACE_delivered_batches, 1);
	trace_add(loader->process, TRACE_delivered_samples, batch->count);
	if (loader->driver != NULL)
		driver_delivered(loader->driver, slot, batch->count, now - asked);
	return 1;
}

/* Batches that the program holds, of its own ring and of the synthetic ones. */
static unsigned held(const struct dsa_loader *loader)
{
	const struct ring_reader *pool =
		loader->driver != NULL ? driver_pool_reader(loader->driver) : NULL;

	return ring_held(loader->reader) + (pool != NULL ? ring_held(pool) : 0);
}

EXPORT int dsa_next(struct dsa_loader *loader, struct dsa_batch *batch)
{
	int result;

	if (loader->pid != getpid())
		return -EOWNERDEAD;
	if (held(loader) > loader->options.prefetch)
		return -EBUSY;
	if (!loader->asked && (result = start_driving(loader)) < 0)
		return result;
	if (loader->driver != NULL && driver_request(loader->driver) == 0)
		return 0;
	return take(loader, batch);
}

EXPORT int dsa_release(struct dsa_loader *loader, const struct dsa_batch *batch)
{
	int result;

	if (loader->pid != getpid())
		return -EOWNERDEAD;
	if (batch->slot >= loader->shape.slots) {
		struct ring_reader *pool = loader->driver != NULL
						   ? driver_pool_reader(loader->driver)
						   : NULL;

		return pool != NULL
			       ? ring_release(pool, batch->slot - loader->shape.slots)
			       : -EINVAL;
	}
	result = ring_release(loader->reader, batch->slot);
	if (result == 0)
		pipeline_released(loader->pipeline);
	return result;
}

EXPORT int dsa_compute(struct dsa_loader *loader, const struct dsa_batch *batch,
		       double rate)
{
	uint64_t start, busy;

	if (loader->pid != getpid())
		return -EOWNERDEAD;
	rate *= loader->options.gpu_speed;
	if (!(rate > 0) || batch->slot >= 2 * RING_SLOTS)
		return -EINVAL;
	start = loader->delivered_ns[batch->slot];
	busy = (uint64_t)(batch->count / rate * 1e9 + 0.5);
	prctl(PR_SET_TIMERSLACK, 1);
	clock_sleep_until(start + busy);
	trace_add(loader->process, TRACE_emulated_batches, 1);
	trace_add(loader->process, TRACE_emulated_samples, batch->count);
	trace_add(loader->process, TRACE_emulated_asked_ns, busy);
	trace_add(loader->process, TRACE_emulated_busy_ns, clock_now() - start);
	if (loader->driver != NULL)
		driver_emulated(loader->driver, rate);
	return 0;
}

/* ---- looking ---- */

static uint64_t counter(const struct dsa_loader *loader, enum trace_counter which)
{
	return atomic_load_explicit(&loader->process->counters[which],
				    memory_order_relaxed);
}

EXPORT int dsa_stats(const struct dsa_loader *loader, struct dsa_stats *stats)
{
	struct cache_stats cache;

	if (loader->pid != getpid())
		return -EOWNERDEAD;
	cache_stats(loader->cache, &cache);
	*stats = (struct dsa_stats){
		.samples = counter(loader, TRACE_delivered_samples),
		.batches = counter(loader, TRACE_delivered_batches),
		.skipped = counter(loader, TRACE_skipped_samples),
		.hits = cache.hits,
		.misses = cache.misses,
		.resident_bytes = cache.resident_bytes,
		.fetched_bytes = counter(loader, TRACE_fetched_bytes),
		.blocked_ns = counter(loader, TRACE_blocked_ns),
		.steps_per_epoch = pipeline_steps(loader->pipeline),
		.dataset_samples = source_count(loader->source),
		.dataset_bytes = source_bytes(loader->source),
		.classes = source_classes(loader->source),
		.workers = loader->options.workers,
	};
	pipeline_position(loader->pipeline, &stats->epoch, &stats->step);
	return 0;
}

EXPORT const char *dsa_why(const struct dsa_loader *loader)
{
	return loader->failure.message;
}

EXPORT const char *dsa_class(const struct dsa_loader *loader, uint32_t label)
{
	return label < source_classes(loader->source)
		       ? source_class(loader->source, label)
		       : NULL;
}
