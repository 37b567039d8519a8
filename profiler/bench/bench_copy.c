/* bench_copy.c - copies slots of rings to a device, both ways in turn, and beside each what
 * could be copied at best. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/math/median.h"
#include "loader/base/trace.h"
#include "loader/gpu.h"
#include "loader/options.h"
#include "loader/prep.h"
#include "loader/ring.h"
#include "profiler/bench/bench_stage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define COPY_BYTES (UINT64_C(16) << 30)
enum {
	COPY_ROUND = 64,   /* batches each way before the next one's turn, */
	COPY_ROUNDS = 256, /* so often, as far as medians go */
};

/* Bytes/s of each round: a host that takes its cores away for a while spoils some rounds,
 * not the median. */
struct copy_rates {
	double per_s[COPY_ROUNDS];
	size_t count;
};

/* One way: a device, a ring that has twins there, and memory of the driver's that holds as
 * much as a batch: what ends each copy costs the same. */
struct copied_ring {
	struct gpu *gpu;
	struct ring *ring;
	struct ring_reader *reader;
	struct ring_shape shape;
	struct gpu_buffer *buffer;
	struct copy_rates rates, limit;
};

static int copied_ring_open(struct copied_ring *copied, const struct options *options,
			    const struct gpu_config *config, struct error *err)
{
	copied->shape = (struct ring_shape){
		.slots = options->prefetch + 2,
		.batch = options->batch,
		.sample_bytes = config->sample_bytes,
	};
	copied->shape.gpu = copied->gpu = gpu_open(config, err);
	if (copied->gpu != NULL)
		copied->ring = ring_open(&copied->shape, err);
	if (copied->ring != NULL)
		copied->reader = ring_join(copied->ring, err);
	if (copied->reader != NULL)
		copied->buffer = gpu_buffer_open(
			copied->gpu, config->batch * config->sample_bytes, err);
	return copied->buffer != NULL ? 0 : -err->code;
}

static void copied_ring_close(struct copied_ring *copied)
{
	gpu_buffer_close(copied->buffer);
	ring_leave(copied->reader);
	ring_close(copied->ring);
	gpu_close(copied->gpu);
}

/* Waits until the oldest of the batches on their way has arrived. */
static int copied_ring_await(struct copied_ring *copied, struct error *err)
{
	struct gpu_batch batch;
	uint32_t slot;
	int result;

	ring_take(copied->reader, 0, &slot);
	result = ring_device_wait(copied->reader, slot, NULL, &batch, err);
	ring_release(copied->reader, slot);
	return result;
}

/* Copies so many batches, as many at once as there are slots. Nanoseconds, or -errno. */
static int64_t copied_ring_round(struct copied_ring *copied, uint32_t count,
				 struct error *err)
{
	uint32_t slots = copied->shape.slots, slot = 0;
	uint64_t begun = clock_now();
	int result = 0;

	for (uint32_t i = 0; i < count + slots && result == 0; i++) {
		if (i >= slots)
			result = copied_ring_await(copied, err);
		if (i >= count)
			continue;
		ring_batch(copied->ring, slot)->count = copied->shape.batch;
		ring_copy(copied->ring, slot);
		ring_publish(copied->ring, slot);
		slot = slot + 1 < slots ? slot + 1 : 0;
	}
	return result < 0 ? result : (int64_t)(clock_now() - begun);
}

/* ---- both ways, in turn ---- */

struct copy_bench {
	const struct options *options;
	struct trace_process *process;
	struct copied_ring rings[2];
};

static size_t copy_sample_bytes(const struct prep_config *config, struct error *err)
{
	struct prep *prep = prep_open(config, err);
	size_t bytes = prep != NULL ? prep_sample_bytes(prep) : 0;

	prep_close(prep);
	return bytes;
}

/* What the loader prepares, made there into what the program gets; or that itself. */
static int copy_open_way(struct copy_bench *bench, struct bench_copy *result, int way,
			 struct error *err)
{
	const struct options *options = bench->options;
	bool output = way == 1;
	struct gpu_config config = {
		.ordinal = options->device,
		.batch = options->batch,
		.slots = 1,
		.process = bench->process,
		.converted = output ? NULL : &options->delivered,
	};

	if (!output && !options->converted)
		return 0;
	config.sample_bytes =
		copy_sample_bytes(output ? &options->delivered : &options->image, err);
	if (config.sample_bytes == 0)
		return -err->code;
	result->ways[way].transfer = output ? "output" : "uint8";
	result->ways[way].batch_bytes = options->batch * config.sample_bytes;
	return copied_ring_open(&bench->rings[way], options, &config, err);
}

static int copy_open(struct copy_bench *bench, struct bench_copy *result,
		     struct error *err)
{
	int status = 0;

	bench->process = calloc(1, sizeof(*bench->process));
	if (bench->process == NULL)
		return error_sys(err, ENOMEM, "cannot copy batches");
	for (int way = 0; way < 2 && status == 0; way++)
		status = copy_open_way(bench, result, way, err);
	return status;
}

static void copy_close(struct copy_bench *bench)
{
	for (int way = 0; way < 2; way++)
		copied_ring_close(&bench->rings[way]);
	free(bench->process);
}

static void copy_note(struct copy_rates *rates, uint64_t bytes, uint64_t ns)
{
	if (rates->count < COPY_ROUNDS)
		rates->per_s[rates->count++] = (double)bytes / ((double)ns / 1e9);
}

/* A round of one way, then of its limit. */
static int copy_way_round(struct copied_ring *ring, struct bench_copy_way *way,
			  uint32_t count, struct error *err)
{
	int64_t took = copied_ring_round(ring, count, err);
	uint64_t ns;
	int status;

	if (took < 0)
		return (int)took;
	way->seconds += (double)took / 1e9;
	copy_note(&ring->rates, way->batch_bytes * count, (uint64_t)took);
	status = gpu_buffer_copy(ring->buffer, count, &ns, err);
	copy_note(&ring->limit, way->batch_bytes * count, ns);
	return status;
}

static int copy_round(struct copy_bench *bench, struct bench_copy *result,
		      uint32_t count, struct error *err)
{
	int status = 0;

	for (int way = 0; way < 2 && status == 0; way++)
		if (result->ways[way].transfer != NULL)
			status = copy_way_round(&bench->rings[way], &result->ways[way],
						count, err);
	return status;
}

static double copy_rate(struct copy_rates *rates)
{
	return median(rates->per_s, rates->count);
}

static void copy_conclude(struct copy_bench *bench, struct bench_copy *result)
{
	const struct gpu_facts facts = gpu_facts(bench->rings[1].gpu);

	snprintf(result->device, sizeof(result->device), "%s", facts.name);
	result->unpinned = facts.unpinned;
	result->huge = ring_huge(bench->rings[1].ring);
	for (int i = 0; i < 2; i++) {
		struct bench_copy_way *way = &result->ways[i];

		if (way->transfer == NULL)
			continue;
		way->bytes_per_s = copy_rate(&bench->rings[i].rates);
		way->limit_bytes_per_s = copy_rate(&bench->rings[i].limit);
		way->samples_per_s = way->bytes_per_s / (double)way->batch_bytes *
				     bench->options->batch;
	}
}

/* The first round, in which drivers make what they need, is not counted. */
static int copy_measure(struct copy_bench *bench, uint64_t batches,
			struct bench_copy *result, struct error *err)
{
	struct bench_copy first = *result;
	int status = copy_round(bench, &first, bench->rings[1].shape.slots, err);

	if (batches == 0)
		batches = COPY_BYTES / result->ways[1].batch_bytes + 1;
	for (int way = 0; way < 2; way++)
		bench->rings[way].rates.count = bench->rings[way].limit.count = 0;
	while (result->batches < batches && status == 0) {
		uint64_t left = batches - result->batches;
		uint32_t count = left < COPY_ROUND ? (uint32_t)left : COPY_ROUND;

		status = copy_round(bench, result, count, err);
		result->batches += count;
	}
	return status;
}

int bench_copy_run(const struct options *options, uint64_t batches,
		   struct bench_copy *result, struct error *err)
{
	struct copy_bench bench = {.options = options};
	int status;

	*result = (struct bench_copy){0};
	status = copy_open(&bench, result, err);
	if (status == 0)
		status = copy_measure(&bench, batches, result, err);
	if (status == 0)
		copy_conclude(&bench, result);
	copy_close(&bench);
	return status;
}
