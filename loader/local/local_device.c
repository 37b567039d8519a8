/* local_device.c - a loader of the program's own whose batches arrive on a device. */
#include "loader/base/error.h"
#include "loader/gpu.h"
#include "loader/local/local_state.h"
#include "loader/options.h"
#include "loader/prep.h"

#include <errno.h>

int local_open_gpu(struct local *local, struct error *err)
{
	const struct options *options = local->config.options;
	const struct gpu_config config = {
		.ordinal = options->device,
		.batch = options->batch,
		.slots = options->prefetch + SPARE_SLOTS,
		.sample_bytes = prep_sample_bytes(local->parts.prep),
		.process = local->config.process,
		.converted = options->converted ? &options->delivered : NULL,
	};

	if (!options->on_device)
		return 0;
	local->gpu = gpu_open(&config, err);
	return local->gpu != NULL ? 0 : -err->code;
}

void local_device_ask(struct batch_source *delivery, void *stream)
{
	gpu_set_asking(((struct local *)delivery)->gpu, stream);
}

uint32_t local_device_still(const struct batch_source *delivery)
{
	return gpu_idle_but_copies(((const struct local *)delivery)->gpu);
}

int local_device_wait(struct batch_source *delivery, struct dsa_device_batch *batch,
		      void *stream, struct error *err)
{
	const struct local *local = (struct local *)delivery;
	struct gpu_batch there = {0};
	uint32_t slot;
	struct ring_reader *reader = local_reader(local, &batch->batch, &slot);
	int result = reader != NULL
			     ? ring_device_wait(reader, slot, stream, &there, err)
			     : -EINVAL;

	batch->data = there.data;
	batch->labels = there.labels;
	batch->batch.data = NULL;
	batch->batch.sample_bytes = gpu_facts(local->gpu).sample_bytes;
	return result;
}

int local_device_release(struct batch_source *delivery, const struct dsa_batch *batch,
			 void *stream, struct error *err)
{
	const struct local *local = (struct local *)delivery;
	uint32_t slot;
	struct ring_reader *reader = local_reader(local, batch, &slot);

	return reader != NULL ? ring_device_release(reader, slot, stream, err)
			      : -EINVAL;
}
