/* describe.c - records in the session what is loaded and how, and what was skipped. */
#include "loader/base/name.h"
#include "loader/components.h"
#include "loader/fetch.h"
#include "loader/gpu.h"
#include "loader/options.h"
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/source.h"
#include "loader/windows/windows_state.h"

#include <stdio.h>

static void describe_device(const struct gpu *gpu, struct trace_loader *about)
{
	const struct gpu_facts facts = gpu_facts(gpu);

	snprintf(about->device, sizeof(about->device), "%s", facts.name);
	about->unpinned = facts.unpinned;
	about->device_uint8 = facts.converts;
	about->device_sample_bytes = facts.copied_per_sample;
}

void describe_loader(const struct windows_parts *parts, struct trace_loader *about)
{
	const struct options *options = parts->options;
	const struct permutation_blocks blocks =
		components_blocks(options, parts->source);
	const struct fetch_facts facts = fetch_facts(pipeline_fetch(parts->pipeline));

	*about = (struct trace_loader){
		.dataset_samples = source_count(parts->source),
		.dataset_bytes = source_facts(parts->source)->bytes,
		.digest = source_facts(parts->source)->digest,
		.cache_capacity = options->cache_bytes,
		.cache_on_disk = options->cache_dir[0] != '\0',
		.sample_bytes = parts->shape->sample_bytes,
		.seed = options->seed,
		.shuffle_run = blocks.run,
		.shuffle_window = blocks.window,
		.steps_per_epoch = pipeline_steps(parts->pipeline),
		.classes = source_facts(parts->source)->classes,
		.batch = options->batch,
		.workers = options->workers,
		.fetch_depth = pipeline_depth(parts->pipeline),
		.fetch_depth_auto = options->depth_auto && facts.remote,
		.prefetch = options->prefetch,
		.slots = parts->shape->slots,
		.direct = facts.direct,
		.memory = facts.memory,
		.remote = facts.remote,
		.listing_age_s = source_facts(parts->source)->listing_age_s,
		.size = options->image.size,
		.layout = options->image.layout,
		.type = options->image.type,
		.evaluate = options->image.evaluate,
		.huge_pages = parts->ring != NULL && ring_huge(parts->ring),
		.storage_bandwidth = options->storage_bandwidth,
		.storage_latency = options->storage_latency,
		.prep_delay = options->prep_delay,
	};
	snprintf(about->dataset, sizeof(about->dataset), "%.511s", options->dataset);
	snprintf(about->source, sizeof(about->source), "%s",
		 source_kind(parts->source));
	if (source_facts(parts->source)->features != NULL)
		name_escape(source_facts(parts->source)->features, about->features,
			    sizeof(about->features));
	snprintf(about->engine, sizeof(about->engine), "%s", facts.engine);
	snprintf(about->engine_reason, sizeof(about->engine_reason), "%s",
		 facts.reason);
	snprintf(about->cache, sizeof(about->cache), "%.15s", options->cache);
	snprintf(about->prep, sizeof(about->prep), "%.15s", options->prep);
	options_shape(options, about->output, sizeof(about->output));
	if (parts->gpu != NULL)
		describe_device(parts->gpu, about);
}

void windows_skip(struct trace *trace, const struct windows_skip *skip)
{
	uint32_t at = atomic_fetch_add(&trace->skip_count, 1);
	struct trace_skip *to;

	if (at >= TRACE_SKIPS)
		return;
	to = &trace->skips[at];
	to->sample = skip->sample;
	to->code = (uint32_t)skip->code;
	source_name(skip->source, skip->sample, to->name, sizeof(to->name));
	snprintf(to->reason, sizeof(to->reason), "%s", skip->reason);
	to->slot = (uint32_t)(skip->process - trace->processes) + 1;
}
