/* describe.c - records in the session what is loaded and how, and what was skipped. */
#include "loader/driver/driver_state.h"
#include "loader/fetch.h"
#include "loader/options.h"
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/source.h"

#include <stdio.h>

static void describe_own(const struct driver *driver)
{
	const struct driver_parts *parts = &driver->parts;
	const struct options *options = parts->options;
	const struct fetch_facts facts = fetch_facts(pipeline_fetch(parts->pipeline));
	struct trace_loader *to = &driver->trace->loader;

	*to = (struct trace_loader){
		.dataset_samples = source_count(parts->source),
		.dataset_bytes = source_facts(parts->source)->bytes,
		.digest = source_facts(parts->source)->digest,
		.cache_capacity = options->cache_bytes,
		.sample_bytes = parts->shape->sample_bytes,
		.seed = options->seed,
		.steps_per_epoch = pipeline_steps(parts->pipeline),
		.classes = source_facts(parts->source)->classes,
		.batch = options->batch,
		.workers = options->workers,
		.fetch_depth = options->fetch_depth,
		.prefetch = options->prefetch,
		.slots = parts->shape->slots,
		.direct = facts.direct,
		.memory = facts.memory,
		.size = options->image.size,
		.layout = options->image.layout,
		.type = options->image.type,
		.evaluate = options->image.evaluate,
		.huge_pages = parts->ring != NULL && ring_huge(parts->ring),
		.storage_bandwidth = options->storage_bandwidth,
		.storage_latency = options->storage_latency,
		.prep_delay = options->prep_delay,
	};
	snprintf(to->dataset, sizeof(to->dataset), "%.511s", options->dataset);
	snprintf(to->source, sizeof(to->source), "%s", source_kind(parts->source));
	snprintf(to->engine, sizeof(to->engine), "%s", facts.engine);
	snprintf(to->engine_reason, sizeof(to->engine_reason), "%s", facts.reason);
	snprintf(to->cache, sizeof(to->cache), "%.15s", options->cache);
	snprintf(to->prep, sizeof(to->prep), "%.15s", options->prep);
	options_shape(options, to->output, sizeof(to->output));
}

void describe_loader(const struct driver *driver)
{
	const struct options *options = driver->parts.options;

	if (!follows(driver))
		describe_own(driver);
	else /* what the shared loader's own session does not have */
		driver->trace->loader = (struct trace_loader){
			.seed = options->seed,
			.batch = options->batch,
			.prefetch = options->prefetch,
		};
}

void driver_skip(struct trace *trace, const struct source *source, uint32_t sample,
		 int code, const char *reason)
{
	uint32_t at = atomic_load(&trace->skip_count);

	if (at < TRACE_SKIPS) {
		struct trace_skip *skip = &trace->skips[at];

		skip->sample = sample;
		skip->code = (uint32_t)code;
		source_name(source, sample, skip->name, sizeof(skip->name));
		snprintf(skip->reason, sizeof(skip->reason), "%s", reason);
	}
	atomic_store(&trace->skip_count, at + 1);
}
