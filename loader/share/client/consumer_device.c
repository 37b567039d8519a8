/* consumer_device.c - a shared loader's batches on a device of the program's own. */
#include "loader/base/error.h"
#include "loader/gpu.h"
#include "loader/prep.h"
#include "loader/share/client/consumer_state.h"

#include <errno.h>
#include <string.h>

/* Labels lie behind the samples of a place, as they are copied. */
static size_t consumer_labels_at(const struct consumer *consumer)
{
	const struct held_batches *batches = &consumer->batches;
	size_t samples = batches->batch * batches->sample_bytes;

	return (samples + GPU_ALIGNED - 1) / GPU_ALIGNED * GPU_ALIGNED;
}

static int consumer_sample_bytes(const struct options *options, size_t *bytes,
				 struct error *err)
{
	struct prep *prep = prep_open(&options->image, err);

	if (prep == NULL)
		return -err->code;
	*bytes = prep_sample_bytes(prep);
	prep_close(prep);
	return 0;
}

int consumer_open_gpu(struct consumer *consumer, struct error *err)
{
	const struct options *options = consumer->config.options;
	struct gpu_config config = {
		.ordinal = options->device,
		.batch = options->batch,
		.slots = CONSUMER_SLOTS(options),
		.process = consumer->config.process,
		.converted = options->converted ? &options->delivered : NULL,
	};
	struct gpu_uuid uuid;
	int result;

	if (!options->on_device)
		return 0;
	result = consumer_sample_bytes(options, &config.sample_bytes, err);
	if (result < 0)
		return result;
	consumer->gpu = gpu_open(&config, err);
	if (consumer->gpu == NULL)
		return -err->code;
	uuid = gpu_uuid(consumer->gpu);
	memcpy(consumer->hello.device, uuid.bytes, sizeof(uuid.bytes));
	return 0;
}

int consumer_open_twins(struct consumer *consumer, struct error *err)
{
	struct held_batches *batches = &consumer->batches;
	struct gpu_slots slots = {
		.labels = consumer_labels_at(consumer),
		.count = batches->slots,
	};

	if (consumer->gpu == NULL)
		return 0;
	if (consumer->decoded)
		return error_set(err, ENOTSUP,
				 "device: the shared loader delivers decoded pictures, "
				 "which this program would finish in memory: use one "
				 "without --decoded");
	slots.slot_bytes = slots.labels + batches->batch * sizeof(int64_t);
	if (held_batches_make_room(batches, slots.slot_bytes) < 0)
		return error_sys(err, ENOMEM, "cannot open the loader");
	slots.start = batches->room;
	consumer->twins = gpu_twins_open(consumer->gpu, &slots, err);
	return consumer->twins != NULL ? 0 : -err->code;
}

static uint32_t consumer_slot(const struct consumer *consumer,
			      const struct held_batch *held)
{
	return (uint32_t)(held - consumer->batches.slot);
}

/* Where a batch begins in its ring's samples. */
static size_t consumer_offset(const struct held_batch *held)
{
	size_t bytes;
	const char *samples = bcast_samples(held->connection->reader, &bytes);

	return (size_t)((const char *)held->batch.data - samples);
}

void consumer_copy(struct consumer *consumer, const struct held_batch *held)
{
	uint32_t slot = consumer_slot(consumer, held);
	int64_t *labels;

	if (consumer->twins == NULL)
		return;
	labels = (int64_t *)(void *)(held->copy + consumer_labels_at(consumer));
	for (uint32_t i = 0; i < held->count; i++)
		labels[i] = held->labels[i];
	if (held->connection == NULL)
		gpu_twins_copy(consumer->twins, slot, held->count);
	else if (held->connection->mirror != NULL)
		gpu_twins_take(consumer->twins, slot, held->connection->mirror,
			       consumer_offset(held), held->count);
	else
		gpu_twins_copy_from(consumer->twins, slot, held->batch.data,
				    held->count);
}

void consumer_copied(struct consumer *consumer, const struct held_batch *held)
{
	if (consumer->twins != NULL)
		gpu_twins_finish(consumer->twins, consumer_slot(consumer, held));
}

/* ---- the program ---- */

/* Of a batch of the own pipeline: that, and the batch as that one knows it. */
static struct batch_source *consumer_alone_of(const struct consumer *consumer,
					      struct dsa_batch *batch)
{
	if (batch->slot < consumer->batches.slots)
		return NULL;
	batch->slot -= consumer->batches.slots;
	return consumer->alone;
}

static bool consumer_has(const struct consumer *consumer, const struct dsa_batch *batch)
{
	return batch->slot < consumer->batches.slots &&
	       consumer->batches.slot[batch->slot].taken;
}

void consumer_device_ask(struct batch_source *delivery, void *stream)
{
	const struct consumer *consumer = (struct consumer *)delivery;
	struct batch_source *alone = consumer->alone;

	gpu_set_asking(consumer->gpu, stream);
	if (alone != NULL)
		alone->ops->device_ask(alone, stream);
}

uint32_t consumer_device_still(const struct consumer *consumer)
{
	const struct batch_source *alone = consumer->alone;
	uint32_t own = gpu_idle_but_copies(consumer->gpu), its;

	if (alone == NULL)
		return own;
	its = alone->ops->device_still(alone);
	return its > own ? its : own;
}

int consumer_device_wait(struct batch_source *delivery, struct dsa_device_batch *batch,
			 void *stream, struct error *err)
{
	const struct consumer *consumer = (struct consumer *)delivery;
	uint32_t slot = batch->batch.slot;
	struct batch_source *alone = consumer_alone_of(consumer, &batch->batch);
	struct gpu_batch there = {0};
	int result = -EINVAL;

	if (alone != NULL) {
		result = alone->ops->device_wait(alone, batch, stream, err);
		batch->batch.slot = slot;
		return result;
	}
	if (consumer_has(consumer, &batch->batch))
		result = gpu_twins_wait(consumer->twins, slot, stream, &there, err);
	batch->data = there.data;
	batch->labels = there.labels;
	batch->batch.data = NULL;
	batch->batch.sample_bytes = gpu_facts(consumer->gpu).sample_bytes;
	return result;
}

int consumer_device_release(struct batch_source *delivery,
			    const struct dsa_batch *batch, void *stream,
			    struct error *err)
{
	const struct consumer *consumer = (struct consumer *)delivery;
	struct dsa_batch its = *batch;
	struct batch_source *alone = consumer_alone_of(consumer, &its);

	if (alone != NULL)
		return alone->ops->device_release(alone, &its, stream, err);
	return consumer_has(consumer, &its)
		       ? gpu_twins_release(consumer->twins, its.slot, stream, err)
		       : -EINVAL;
}
