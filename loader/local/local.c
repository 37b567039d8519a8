/* local.c - batches of a pipeline of the program's own, which a session may drive. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/batch_source.h"
#include "loader/cache.h"
#include "loader/components.h"
#include "loader/driver.h"
#include "loader/options.h"
#include "loader/pipeline.h"
#include "loader/plan.h"
#include "loader/prep.h"
#include "loader/ring.h"
#include "loader/sampler.h"
#include "loader/source.h"

#include <errno.h>
#include <stdlib.h>

/* Batches that the program may hold beyond those prepared ahead: its current one, and
 * one that is being filled meanwhile. */
enum { SPARE_SLOTS = 2 };

_Static_assert(2 * RING_SLOTS <= BATCH_SOURCE_SLOTS,
	       "the ring's slots, then the pool's");

struct own {
	struct batch_source base;
	struct batch_source_config config;
	struct components parts;
	struct ring_shape shape;
	struct ring *ring;
	struct ring_reader *reader;
	struct plan *plan;
	struct pipeline *pipeline;
	struct driver *driver; /* NULL: not ours to drive, or not asked yet */
	bool asked;            /* for a batch */
	_Atomic bool stopped;
};

/* ---- opening ---- */

/* Records a skipped sample in the session. Called with the pipeline's lock held. */
static void local_skipped(void *context, uint32_t sample, int code, const char *reason)
{
	const struct own *own = context;

	driver_skip(own->config.trace, own->parts.source, sample, code, reason);
}

static int open_ring(struct own *own, struct error *err)
{
	const struct options *options = own->config.options;

	own->shape = (struct ring_shape){
		.slots = options->prefetch + SPARE_SLOTS,
		.batch = options->batch,
		.sample_bytes = prep_sample_bytes(own->parts.prep),
	};
	own->ring = ring_open(&own->shape, err);
	if (own->ring == NULL)
		return -err->code;
	own->reader = ring_join(own->ring, err);
	return own->reader != NULL ? 0 : -err->code;
}

static int open_plan(struct own *own, struct error *err)
{
	const struct options *options = own->config.options;
	const struct sampler_config config = {
		.count = source_count(own->parts.source),
		.seed = options->seed,
		.rank = options->rank,
		.world = options->world,
		.in_order = options->in_order,
		.even = options->drop_last,
	};
	uint64_t end = options->epochs > 0 ? options->start_epoch + options->epochs
					   : UINT64_MAX;
	uint32_t batch = options->drop_last ? options->batch : 0;

	own->plan = own->config.rest == NULL
			    ? plan_epochs(&config, batch, end, err)
			    : plan_after(&config, batch, end, own->config.rest, err);
	return own->plan != NULL ? 0 : -err->code;
}

/* Where the program wants to begin; past its last epoch, at the end of that one. */
static struct pipeline_point start_point(const struct own *own)
{
	const struct options *options = own->config.options;
	struct pipeline_point start = {.pass = options->start_epoch};
	struct plan_pass pass;
	uint64_t steps, epochs;

	plan_pass(own->plan, start.pass, &pass);
	if (pass.length == 0)
		return start;
	steps = ((uint64_t)pass.length + options->batch - 1) / options->batch;
	epochs = options->start_step / steps;
	start.position = (uint32_t)(options->start_step % steps * options->batch);
	if (options->epochs > 0 && epochs >= options->epochs) {
		epochs = options->epochs - 1;
		start.position = pass.length;
	}
	start.pass += epochs;
	return start;
}

static int local_open_pipeline(struct own *own, struct error *err)
{
	const struct pipeline_turn stream = {.ops = &turn_stream};
	const struct pipeline_parts parts = {
		.options = own->config.options,
		.source = own->parts.source,
		.cache = own->parts.cache,
		.prep = own->parts.prep,
		.plan = own->plan,
		.start = start_point(own),
		.sink = ring_outlet(own->ring),
		.slots = own->shape.slots,
		.throttle = own->parts.throttle,
		.process = own->config.process,
	};

	own->pipeline = pipeline_open(&parts, err);
	if (own->pipeline == NULL)
		return -err->code;
	if (own->config.trace != NULL)
		pipeline_on_skip(own->pipeline, local_skipped, own);
	pipeline_start(own->pipeline, &stream);
	return 0;
}

static void own_close(struct batch_source *delivery)
{
	struct own *own = (struct own *)delivery;

	driver_close(own->driver);
	pipeline_close(own->pipeline);
	plan_free(own->plan);
	ring_leave(own->reader);
	ring_close(own->ring);
	components_close(&own->parts);
	free(own);
}

/* ---- batches ---- */

static int local_start_driving(struct own *own, struct error *err)
{
	const struct driver_parts parts = {
		.trace = own->config.trace,
		.process = own->config.process,
		.options = own->config.options,
		.source = own->parts.source,
		.pipeline = own->pipeline,
		.cache = own->parts.cache,
		.throttle = own->parts.throttle,
		.ring = own->ring,
		.reader = own->reader,
		.shape = &own->shape,
	};
	struct error failure = {0};

	own->asked = true;
	if (own->config.trace == NULL || own->config.undriven)
		return 0;
	own->driver = driver_open(&parts, &failure);
	if (failure.code != 0)
		*err = failure;
	return -failure.code;
}

/* Waits for the next batch of the loader's own ring: 1, 0 at the end, -errno. */
static int local_wait_batch(struct own *own, uint32_t *slot, struct error *err)
{
	for (uint64_t wait = 0;; wait = 100000000) {
		int status;

		if (ring_take(own->reader, wait, slot) == 0)
			return 1;
		status = pipeline_status(own->pipeline, err);
		if (status != 0 && ring_take(own->reader, 0, slot) == 0)
			return 1;
		if (status != 0)
			return status < 0 ? status : 0;
		if (own->stopped ||
		    (own->driver != NULL && driver_stopped(own->driver)))
			return 0;
	}
}

static void local_show(const struct own *own, struct ring *ring, uint32_t slot,
		       struct dsa_batch *batch)
{
	const struct ring_batch *shared = ring_batch(ring, slot);
	bool pooled = ring != own->ring;

	*batch = (struct dsa_batch){
		.data = ring_sample(ring, slot, 0),
		.labels = ring_labels(ring, slot),
		.samples = ring_samples(ring, slot),
		.sample_bytes = own->shape.sample_bytes,
		.count = shared->count,
		.slot = pooled ? own->shape.slots + slot : slot,
		.epoch = shared->epoch,
		.step = shared->step,
		.repeated = shared->repeated,
	};
}

static int local_take(struct own *own, struct dsa_batch *batch,
		      struct batch_source_wait *wait, struct error *err)
{
	struct ring_reader *pool =
		own->driver != NULL ? driver_pool(own->driver) : NULL;
	uint32_t slot;

	wait->asked_ns = clock_now();
	if (pool != NULL) {
		ring_take(pool, 0, &slot);
		local_show(own, driver_pool_ring(own->driver), slot, batch);
	} else {
		int result = local_wait_batch(own, &slot, err);

		if (result <= 0)
			return result;
		pipeline_delivered(own->pipeline, slot);
		local_show(own, own->ring, slot, batch);
	}
	wait->delivered_ns = clock_now();
	if (own->driver != NULL)
		driver_delivered(own->driver, slot, batch->count,
				 wait->delivered_ns - wait->asked_ns);
	return 1;
}

static int own_next(struct batch_source *delivery, struct dsa_batch *batch,
		    struct batch_source_wait *wait, struct error *err)
{
	struct own *own = (struct own *)delivery;
	int result;

	if (!own->asked && (result = local_start_driving(own, err)) < 0)
		return result;
	if (own->driver != NULL && driver_request(own->driver) == 0)
		return 0;
	return local_take(own, batch, wait, err);
}

static struct ring_reader *pool_reader(const struct own *own)
{
	return own->driver != NULL ? driver_pool_reader(own->driver) : NULL;
}

static int own_release(struct batch_source *delivery, const struct dsa_batch *batch,
		       struct error *err)
{
	struct own *own = (struct own *)delivery;
	int result;

	(void)err;
	if (batch->slot >= own->shape.slots) {
		struct ring_reader *pool = pool_reader(own);

		return pool != NULL ? ring_release(pool, batch->slot - own->shape.slots)
				    : -EINVAL;
	}
	result = ring_release(own->reader, batch->slot);
	if (result == 0)
		pipeline_released(own->pipeline);
	return result;
}

/* Of its own ring and of the synthetic ones. */
static unsigned own_held(const struct batch_source *delivery)
{
	const struct own *own = (const struct own *)delivery;
	const struct ring_reader *pool = pool_reader(own);

	return ring_held(own->reader) + (pool != NULL ? ring_held(pool) : 0);
}

static void own_stop(struct batch_source *delivery)
{
	struct own *own = (struct own *)delivery;

	own->stopped = true;
}

static void own_emulated(struct batch_source *delivery, double rate)
{
	const struct own *own = (const struct own *)delivery;

	if (own->driver != NULL)
		driver_emulated(own->driver, rate);
}

/* ---- looking ---- */

static void own_stats(const struct batch_source *delivery, struct dsa_stats *stats)
{
	const struct own *own = (const struct own *)delivery;
	struct cache_stats cache;

	cache_stats(own->parts.cache, &cache);
	stats->hits = cache.hits;
	stats->misses = cache.misses;
	stats->resident_bytes = cache.resident_bytes;
	stats->steps_per_epoch = pipeline_steps(own->pipeline);
	stats->dataset_samples = source_count(own->parts.source);
	stats->dataset_bytes = source_bytes(own->parts.source);
	stats->classes = source_classes(own->parts.source);
	stats->workers = own->config.options->workers;
	pipeline_position(own->pipeline, &stats->epoch, &stats->step);
}

static const char *own_class(const struct batch_source *delivery, uint32_t label)
{
	const struct own *own = (const struct own *)delivery;

	return label < source_classes(own->parts.source)
		       ? source_class(own->parts.source, label)
		       : NULL;
}

static const struct batch_source_ops own_ops = {
	.next = own_next,
	.release = own_release,
	.held = own_held,
	.stop = own_stop,
	.emulated = own_emulated,
	.stats = own_stats,
	.class_name = own_class,
	.close = own_close,
};

struct batch_source *local_open(const struct batch_source_config *config,
				struct error *err)
{
	struct own *own = calloc(1, sizeof(*own));
	int result;

	if (own == NULL) {
		error_sys(err, ENOMEM, "cannot open the loader");
		return NULL;
	}
	own->base.ops = &own_ops;
	own->config = *config;
	result = components_open(&own->parts, config->options, NULL, err);
	if (result == 0)
		result = open_ring(own, err);
	if (result == 0)
		result = open_plan(own, err);
	if (result == 0)
		result = local_open_pipeline(own, err);
	if (result == 0)
		return &own->base;
	own_close(&own->base);
	return NULL;
}
