/* local.c - batches of a pipeline of the program's own, which a session may drive. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "loader/batch_source.h"
#include "loader/cache.h"
#include "loader/components.h"
#include "loader/driver.h"
#include "loader/fetch.h"
#include "loader/gpu.h"
#include "loader/local/local_state.h"
#include "loader/local/warm_up.h"
#include "loader/options.h"
#include "loader/pipeline.h"
#include "loader/plan.h"
#include "loader/prep.h"
#include "loader/ring.h"
#include "loader/sampler.h"
#include "loader/source.h"
#include "loader/windows.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert(2 * RING_SLOTS <= BATCH_SOURCE_SLOTS,
	       "the ring's slots, then the pool's");

/* ---- opening ---- */

/* Records a skipped sample in the session. Called with the pipeline's lock held. */
static void local_skipped(void *context, uint32_t sample, int code, const char *reason)
{
	const struct local *local = context;

	windows_skip(local->config.trace,
		     &(struct windows_skip){local->config.process, local->parts.source,
					    sample, code, reason});
}

static void local_lost(void *context, uint64_t epoch)
{
	struct local *local = context;

	(void)epoch;
	local->lossy_epochs++;
}

static int local_open_ring(struct local *local, struct error *err)
{
	const struct options *options = local->config.options;

	local->shape = (struct ring_shape){
		.slots = options->prefetch + SPARE_SLOTS,
		.batch = options->batch,
		.sample_bytes = prep_sample_bytes(local->parts.prep),
		.gpu = local->gpu,
	};
	local->ring = ring_open(&local->shape, err);
	if (local->ring == NULL)
		return -err->code;
	local->reader = ring_join(local->ring, err);
	return local->reader != NULL ? 0 : -err->code;
}

/* One epoch may be without a whole batch, and be all that is wanted; that none of several has
 * one is a mistake. */
static int local_check_plan(const struct local *local, struct error *err)
{
	const struct options *options = local->config.options;
	struct plan_pass pass;

	plan_pass(local->plan, options->start_epoch + 1, &pass);
	if (pass.length > 0 || pass.spare == 0)
		return 0;
	return error_set(
		err, EINVAL,
		"no whole batch of an epoch: it has %u samples, and a batch %u; "
		"make batches smaller, or leave drop_last out",
		pass.spare, options->batch);
}

static int local_open_plan(struct local *local, struct error *err)
{
	const struct options *options = local->config.options;
	const struct sampler_config config = {
		.count = source_count(local->parts.source),
		.seed = options->seed,
		.rank = options->rank,
		.world = options->world,
		.in_order = options->in_order,
		.even = options->drop_last,
		.blocks = components_blocks(options, local->parts.source),
	};
	uint64_t end = options->epochs > 0 ? options->start_epoch + options->epochs
					   : UINT64_MAX;
	uint32_t batch = options->drop_last ? options->batch : 0;

	local->plan = local->config.rest == NULL ? plan_epochs(&config, batch, end, err)
						 : plan_after(&config, batch, end,
							      local->config.rest, err);
	return local->plan != NULL ? local_check_plan(local, err) : -err->code;
}

/* Where the program wants to begin; past its last epoch, at the end of that one. */
static struct pipeline_point local_start_point(const struct local *local)
{
	const struct options *options = local->config.options;
	struct pipeline_point start = {.pass = options->start_epoch};
	struct plan_pass pass;
	uint64_t steps, epochs;

	plan_pass(local->plan, start.pass, &pass);
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

static int local_open_pipeline(struct local *local, struct error *err)
{
	const struct pipeline_turn stream = {.ops = &turn_stream};
	const struct pipeline_parts parts = {
		.options = local->config.options,
		.source = local->parts.source,
		.cache = local->parts.cache,
		.prep = local->parts.prep,
		.plan = local->plan,
		.start = local_start_point(local),
		.sink = ring_outlet(local->ring),
		.slots = local->shape.slots,
		.throttle = local->parts.throttle,
		.process = local->config.process,
		.bound = local->config.undriven ? NULL : local->config.trace,
		.device_bytes = local->gpu != NULL
					? gpu_facts(local->gpu).copied_per_sample
					: 0,
		.on_skip = local->config.trace != NULL ? local_skipped : NULL,
		.on_loss = local_lost,
		.context = local,
	};

	local->pipeline = pipeline_open(&parts, err);
	if (local->pipeline == NULL)
		return -err->code;
	pipeline_start(local->pipeline, &stream);
	return 0;
}

/* Not of a program that dsa drives: its windows read cold what they are to read cold. */
static void local_warm_up(struct local *local)
{
	const struct options *options = local->config.options;
	const struct trace *trace = local->config.trace;
	struct fetch_facts facts = fetch_facts(pipeline_fetch(local->pipeline));
	uint64_t wanted = source_count(local->parts.source) / options->world;

	if ((trace != NULL && !trace->observe) || local->parts.throttle != NULL ||
	    facts.direct || facts.memory || !cache_kernel(local->parts.cache))
		return;
	if (warm_up_pays(local->parts.source, wanted, warm_up_room("")))
		local->warm_up = warm_up_start(local->parts.source);
}

static void local_close(struct batch_source *delivery)
{
	struct local *local = (struct local *)delivery;

	windows_close(local->windows);
	warm_up_stop(local->warm_up);
	pipeline_close(local->pipeline);
	plan_free(local->plan);
	ring_leave(local->reader);
	ring_close(local->ring);
	gpu_close(local->gpu);
	components_close(&local->parts);
	free(local);
}

/* ---- batches ---- */

static int local_start_driving(struct local *local, struct error *err)
{
	const struct windows_parts parts = {
		.trace = local->config.undriven ? NULL : local->config.trace,
		.process = local->config.process,
		.options = local->config.options,
		.source = local->parts.source,
		.pipeline = local->pipeline,
		.cache = local->parts.cache,
		.throttle = local->parts.throttle,
		.ring = local->ring,
		.reader = local->reader,
		.shape = &local->shape,
		.gpu = local->gpu,
	};
	int result = windows_open(&parts, &local->windows, err);

	local->asked = true;
	if (local->windows == NULL)
		pipeline_unbind(local->pipeline);
	return result;
}

/* Waits for the next batch of the loader's own ring: 1, 0 at the end, -errno. */
static int local_wait_batch(struct local *local, uint32_t *slot, struct error *err)
{
	for (uint64_t wait = 0;; wait = 100000000) {
		int status;

		if (ring_take(local->reader, wait, slot) == 0)
			return 1;
		if (wait == 0)
			pipeline_depth_wait(local->pipeline);
		status = pipeline_status(local->pipeline, err);
		if (status != 0 && ring_take(local->reader, 0, slot) == 0)
			return 1;
		if (status != 0)
			return status < 0 ? status : 0;
		if (local->stopped || (local->windows != NULL &&
				       driver_stopped(windows_driver(local->windows))))
			return 0;
	}
}

static void local_show(const struct local *local, struct ring *ring, uint32_t slot,
		       struct dsa_batch *batch)
{
	const struct ring_batch *shared = ring_batch(ring, slot);
	bool pooled = ring != local->ring;

	*batch = (struct dsa_batch){
		.data = ring_sample(ring, slot, 0),
		.labels = ring_labels(ring, slot),
		.samples = ring_samples(ring, slot),
		.sample_bytes = local->shape.sample_bytes,
		.count = shared->count,
		.slot = pooled ? local->shape.slots + slot : slot,
		.epoch = shared->epoch,
		.step = shared->step,
		.repeated = shared->repeated,
	};
}

static int local_take(struct local *local, struct dsa_batch *batch,
		      struct batch_source_wait *wait, struct error *err)
{
	struct ring_reader *pool =
		local->windows != NULL ? windows_pool(local->windows) : NULL;
	uint32_t slot;

	wait->asked_ns = clock_now();
	if (pool != NULL) {
		ring_take(pool, 0, &slot);
		local_show(local, windows_pool_ring(local->windows), slot, batch);
	} else {
		int result = local_wait_batch(local, &slot, err);

		if (result <= 0)
			return result;
		pipeline_delivered(local->pipeline, slot);
		local_show(local, local->ring, slot, batch);
	}
	wait->delivered_ns = clock_now();
	if (local->windows != NULL)
		windows_delivered(local->windows, slot, batch->count,
				  wait->delivered_ns - wait->asked_ns);
	return 1;
}

static int local_next(struct batch_source *delivery, struct dsa_batch *batch,
		      struct batch_source_wait *wait, struct error *err)
{
	struct local *local = (struct local *)delivery;
	int result;

	if (!local->asked && (result = local_start_driving(local, err)) < 0)
		return result;
	if (local->windows != NULL && windows_request(local->windows) == 0)
		return 0;
	result = local_take(local, batch, wait, err);
	if (result == 0 && local->windows != NULL)
		driver_data_ended(windows_driver(local->windows));
	return result;
}

struct ring_reader *local_pool_reader(const struct local *local)
{
	return local->windows != NULL ? windows_pool_reader(local->windows) : NULL;
}

struct ring_reader *local_reader(const struct local *local,
				 const struct dsa_batch *batch, uint32_t *slot)
{
	bool pooled = batch->slot >= local->shape.slots;

	*slot = pooled ? batch->slot - local->shape.slots : batch->slot;
	return pooled ? local_pool_reader(local) : local->reader;
}

static int local_release(struct batch_source *delivery, const struct dsa_batch *batch,
			 struct error *err)
{
	struct local *local = (struct local *)delivery;
	uint32_t slot;
	struct ring_reader *reader = local_reader(local, batch, &slot);
	int result = reader != NULL ? ring_release(reader, slot) : -EINVAL;

	(void)err;
	if (result == 0 && reader == local->reader)
		pipeline_released(local->pipeline);
	return result;
}

/* Of its own ring and of the synthetic ones. */
static unsigned local_held(const struct batch_source *delivery)
{
	const struct local *local = (const struct local *)delivery;
	const struct ring_reader *pool = local_pool_reader(local);

	return ring_held(local->reader) + (pool != NULL ? ring_held(pool) : 0);
}

static void local_stop(struct batch_source *delivery)
{
	struct local *local = (struct local *)delivery;

	local->stopped = true;
}

static void local_emulated(struct batch_source *delivery, double rate)
{
	const struct local *local = (const struct local *)delivery;

	if (local->windows != NULL)
		driver_emulated(windows_driver(local->windows), rate);
}

/* ---- looking ---- */

static void local_stats(const struct batch_source *delivery, struct dsa_stats *stats)
{
	const struct local *local = (const struct local *)delivery;
	struct cache_stats cache;

	cache_stats(local->parts.cache, &cache);
	stats->hits = cache.hits;
	stats->misses = cache.misses;
	stats->resident_bytes = cache.resident_bytes;
	stats->steps_per_epoch = pipeline_steps(local->pipeline);
	stats->dataset_samples = source_count(local->parts.source);
	stats->dataset_bytes = source_facts(local->parts.source)->bytes;
	stats->classes = source_facts(local->parts.source)->classes;
	stats->workers = local->config.options->workers;
	stats->lossy_epochs = local->lossy_epochs;
	pipeline_position(local->pipeline, &stats->epoch, &stats->step);
}

static const char *local_class(const struct batch_source *delivery, uint32_t label)
{
	const struct local *local = (const struct local *)delivery;

	return label < source_facts(local->parts.source)->classes
		       ? source_class(local->parts.source, label)
		       : NULL;
}

static const struct batch_source_ops local_ops = {
	.next = local_next,
	.release = local_release,
	.device_ask = local_device_ask,
	.device_still = local_device_still,
	.device_wait = local_device_wait,
	.device_release = local_device_release,
	.held = local_held,
	.stop = local_stop,
	.emulated = local_emulated,
	.stats = local_stats,
	.class_name = local_class,
	.close = local_close,
};

struct batch_source *local_open(const struct batch_source_config *config,
				struct error *err)
{
	struct local *local = calloc(1, sizeof(*local));
	int result;

	if (local == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot open the loader"));
	local->base.ops = &local_ops;
	local->config = *config;
	result = components_open(&local->parts, config->options, NULL, err);
	if (result == 0)
		result = local_open_gpu(local, err);
	if (result == 0)
		result = local_open_ring(local, err);
	if (result == 0)
		result = local_open_plan(local, err);
	if (result == 0)
		result = local_open_pipeline(local, err);
	if (result < 0) {
		local_close(&local->base);
		return NULL;
	}
	local_warm_up(local);
	return &local->base;
}
