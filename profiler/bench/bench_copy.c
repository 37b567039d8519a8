/* bench_copy.c - copies slots of rings to a device, both ways in turn, and what could be
 * copied at best. */
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
	COPY_LIMIT = 2,    /* beside the ways */
};

/* One way: a device, and a ring that has twins there. */
struct copied_ring {
	struct gpu *gpu;
	struct ring *ring;
	struct ring_reader *reader;
	struct ring_shape shape;
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
	return copied->reader != NULL ? 0 : -err->code;
}

static void copied_ring_close(struct copied_ring *copied)
{
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
	struct gpu_buffer *buffer;
	/* Bytes/s of each round, of ways and limit: a host that takes its cores away for a
	 * while spoils some rounds, not the median. */
	double rates[COPY_LIMIT + 1][COPY_ROUNDS];
	size_t rounds;
};

static size_t copy_sample_bytes(const struct prep_config *config, struct error *err)
{
	struct prep *prep = prep_open(config, err);
	size_t bytes = prep != NULL ? prep_sample_bytes(prep) : 0;

	prep_close(prep);
	return bytes;
}

/* What the loader prepares, or what the program gets. */
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
	const struct copied_ring *output = &bench->rings[1];
	int status = 0;

	bench->process = calloc(1, sizeof(*bench->process));
	if (bench->process == NULL)
		return error_sys(err, ENOMEM, "cannot copy batches");
	for (int way = 0; way < 2 && status == 0; way++)
		status = copy_open_way(bench, result, way, err);
	if (status < 0)
		return status;
	bench->buffer = gpu_buffer_open(output->gpu, result->ways[1].batch_bytes, err);
	return bench->buffer != NULL ? 0 : -err->code;
}

static void copy_close(struct copy_bench *bench)
{
	gpu_buffer_close(bench->buffer);
	for (int way = 0; way < 2; way++)
		copied_ring_close(&bench->rings[way]);
	free(bench->process);
}

static void copy_note(struct copy_bench *bench, int way, uint64_t batch_bytes,
		      uint32_t count, int64_t ns)
{
	if (bench->rounds < COPY_ROUNDS)
		bench->rates[way][bench->rounds] =
			(double)batch_bytes * count / ((double)ns / 1e9);
}

/* A round each way and of the limit. */
static int copy_round(struct copy_bench *bench, struct bench_copy *result,
		      uint32_t count, struct error *err)
{
	uint64_t ns;
	int status;

	for (int way = 0; way < 2; way++) {
		int64_t took = 0;

		if (result->ways[way].transfer == NULL)
			continue;
		took = copied_ring_round(&bench->rings[way], count, err);
		if (took < 0)
			return (int)took;
		result->ways[way].seconds += (double)took / 1e9;
		copy_note(bench, way, result->ways[way].batch_bytes, count, took);
	}
	status = gpu_buffer_copy(bench->buffer, count, &ns, err);
	copy_note(bench, COPY_LIMIT, result->ways[1].batch_bytes, count, (int64_t)ns);
	bench->rounds++;
	return status;
}

static double copy_rate(struct copy_bench *bench, int way)
{
	return median(bench->rates[way],
		      bench->rounds < COPY_ROUNDS ? bench->rounds : COPY_ROUNDS);
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
		way->bytes_per_s = copy_rate(bench, i);
		way->samples_per_s = way->bytes_per_s / (double)way->batch_bytes *
				     bench->options->batch;
	}
	result->limit_bytes_per_s = copy_rate(bench, COPY_LIMIT);
}

/* The first round, in which drivers make what they need, is not counted. */
static int copy_measure(struct copy_bench *bench, uint64_t batches,
			struct bench_copy *result, struct error *err)
{
	struct bench_copy first = *result;
	int status = copy_round(bench, &first, bench->rings[1].shape.slots, err);

	if (batches == 0)
		batches = COPY_BYTES / result->ways[1].batch_bytes + 1;
	bench->rounds = 0;
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
