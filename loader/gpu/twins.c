/* twins.c - the slots of a ring once more, on a device. */
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "loader/gpu/gpu_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { TWIN_EVENTS = 5 };

struct gpu_twin {
	cuda_event copying, copied; /* on the stream of copies; with times */
	cuda_event converting;      /* on that of conversions, likewise */
	cuda_event ready;           /* on the last of them, likewise */
	cuda_event released;        /* the program's last use of it */
	bool under_way;             /* nobody has waited for `ready` */
	cuda_result failed;         /* why the copy could not be enqueued */
};

struct gpu_twins {
	struct gpu *gpu;
	struct gpu_slots slots;
	bool pinned;
	cuda_address memory;
	size_t twin_bytes; /* from twin to twin */
	size_t copied;     /* where in one begins what slots hold: samples, labels */
	struct gpu_twin *twins; /* slots.count */
};

/* ---- opening ---- */

static size_t twins_align(size_t bytes)
{
	return (bytes + GPU_ALIGNED - 1) / GPU_ALIGNED * GPU_ALIGNED;
}

static bool twins_converts(const struct gpu_twins *twins)
{
	return twins->gpu->converter.module != NULL;
}

static int twins_make_memory(struct gpu_twins *twins, struct error *err)
{
	const struct gpu *gpu = twins->gpu;
	size_t labels = gpu->config.batch * sizeof(int64_t), bytes;
	cuda_result result;

	if (twins_converts(twins))
		twins->copied = twins_align(gpu->config.batch * gpu->sample_bytes);
	twins->twin_bytes = twins_align(twins->copied + twins->slots.labels + labels);
	bytes = twins->slots.count * twins->twin_bytes;
	result = gpu->cuda.cuMemAlloc_v2(&twins->memory, bytes);
	if (result == CUDA_SUCCESS)
		return 0;
	cuda_fail(&gpu->cuda, result, "cuMemAlloc", err);
	return error_within(
		err, -ENOMEM,
		"device: %zu MB for %u batches (smaller batch or prefetch?)",
		bytes >> 20, twins->slots.count);
}

static cuda_result twin_make_events(const struct cuda *cuda, struct gpu_twin *twin)
{
	const struct {
		cuda_event *event;
		unsigned flags;
	} events[TWIN_EVENTS] = {
		{&twin->copying, 0},
		{&twin->copied, 0},
		{&twin->converting, 0},
		{&twin->ready, CU_EVENT_BLOCKING_SYNC},
		{&twin->released, CU_EVENT_DISABLE_TIMING},
	};
	cuda_result result = CUDA_SUCCESS;

	for (unsigned i = 0; i < TWIN_EVENTS && result == CUDA_SUCCESS; i++)
		result = cuda->cuEventCreate(events[i].event, events[i].flags);
	return result;
}

static int twins_make_events(struct gpu_twins *twins, struct error *err)
{
	const struct cuda *cuda = &twins->gpu->cuda;
	cuda_result result = CUDA_SUCCESS;

	for (uint32_t i = 0; i < twins->slots.count && result == CUDA_SUCCESS; i++)
		result = twin_make_events(cuda, &twins->twins[i]);
	if (result == CUDA_SUCCESS)
		return 0;
	return error_within(err, cuda_fail(cuda, result, "cuEventCreate", err),
			    "device");
}

/* Refused, copies go through the driver's own memory: slower, and the result says so. */
static void twins_register(struct gpu_twins *twins)
{
	const struct gpu_slots *slots = &twins->slots;
	size_t bytes = slots->count * slots->slot_bytes;

	twins->pinned = twins->gpu->cuda.cuMemHostRegister_v2(
				slots->start, bytes, CU_MEMHOSTREGISTER_PORTABLE) ==
			CUDA_SUCCESS;
	if (!twins->pinned)
		twins->gpu->unpinned = true;
}

static int twins_make(struct gpu_twins *twins, struct error *err)
{
	unsigned mode;
	cuda_result entered = gpu_enter(twins->gpu, &mode);
	int result;

	if (entered != CUDA_SUCCESS)
		return cuda_fail(&twins->gpu->cuda, entered, "cuCtxPushCurrent", err);
	result = twins_make_memory(twins, err);
	if (result == 0)
		result = twins_make_events(twins, err);
	if (result == 0)
		twins_register(twins);
	gpu_leave(twins->gpu, mode);
	return result;
}

struct gpu_twins *gpu_twins_open(struct gpu *gpu, const struct gpu_slots *slots,
				 struct error *err)
{
	struct gpu_twins *twins = calloc(1, sizeof(*twins));

	if (twins != NULL)
		twins->twins = calloc(slots->count, sizeof(*twins->twins));
	if (twins == NULL || twins->twins == NULL) {
		free(twins);
		return error_null(error_sys(err, ENOMEM, "cannot make the twins"));
	}
	twins->gpu = gpu;
	twins->slots = *slots;
	if (twins_make(twins, err) == 0)
		return twins;
	gpu_twins_close(twins);
	return NULL;
}

/* ---- closing ---- */

static void twin_free_events(const struct cuda *cuda, const struct gpu_twin *twin)
{
	cuda_event events[TWIN_EVENTS] = {twin->copying, twin->copied, twin->converting,
					  twin->ready, twin->released};

	for (unsigned i = 0; i < TWIN_EVENTS; i++)
		if (events[i] != NULL)
			cuda->cuEventDestroy_v2(events[i]);
}

static void twins_free(struct gpu_twins *twins)
{
	const struct cuda *cuda = &twins->gpu->cuda;

	gpu_finish(twins->gpu);
	for (uint32_t i = 0; i < twins->slots.count; i++) {
		if (twins->twins[i].released != NULL)
			cuda->cuEventSynchronize(twins->twins[i].released);
		twin_free_events(cuda, &twins->twins[i]);
	}
	if (twins->pinned)
		cuda->cuMemHostUnregister(twins->slots.start);
	if (twins->memory != 0)
		cuda->cuMemFree_v2(twins->memory);
}

void gpu_twins_close(struct gpu_twins *twins)
{
	unsigned mode;

	if (twins == NULL)
		return;
	if (gpu_enter(twins->gpu, &mode) == CUDA_SUCCESS) {
		twins_free(twins);
		gpu_leave(twins->gpu, mode);
	}
	free(twins->twins);
	free(twins);
}

/* ---- the writer's side ---- */

static cuda_address twins_start(const struct gpu_twins *twins, uint32_t slot)
{
	return twins->memory + slot * twins->twin_bytes;
}

static const char *twins_slot(const struct gpu_twins *twins, uint32_t slot)
{
	return (const char *)twins->slots.start + slot * twins->slots.slot_bytes;
}

/* Where the samples of a batch are. */
struct twins_source {
	const void *samples;             /* in memory; else: */
	const struct gpu_mirror *mirror; /* there, from offset on */
	size_t offset;
};

/* Up to the mirror's end, then from its begin on. */
static cuda_result twins_take_run(const struct gpu_twins *twins, cuda_address from,
				  cuda_address to, uint32_t count)
{
	struct gpu *gpu = twins->gpu;

	return twins_converts(twins)
		       ? gpu_convert(gpu, from, to, count)
		       : gpu->cuda.cuMemcpyDtoDAsync_v2(
				 to, from, count * gpu->config.sample_bytes,
				 gpu->copying);
}

static cuda_result twins_take_samples(const struct gpu_twins *twins, uint32_t slot,
				      const struct twins_source *source, uint32_t count)
{
	const struct gpu *gpu = twins->gpu;
	const struct gpu_mirror *mirror = source->mirror;
	cuda_address to = twins_start(twins, slot);
	size_t offset = source->offset % mirror->bytes;
	size_t most = (mirror->bytes - offset) / gpu->config.sample_bytes;
	uint32_t first = count < most ? count : (uint32_t)most;
	cuda_result result = twins_take_run(twins, mirror->start + offset, to, first);

	if (result == CUDA_SUCCESS && first < count)
		result = twins_take_run(twins, mirror->start,
					to + first * gpu->sample_bytes, count - first);
	return result;
}

static cuda_result twins_copy_bytes(const struct gpu *gpu, cuda_address to,
				    const void *from, size_t bytes)
{
	return gpu->cuda.cuMemcpyHtoDAsync_v2(to, from, bytes, gpu->copying);
}

/* A full slot in one piece: a copy of its labels alone would hold up the next batch's for
 * longer than their bytes take. */
static cuda_result twins_copy_slot(const struct gpu_twins *twins, uint32_t slot,
				   const struct twins_source *source, uint32_t count)
{
	const struct gpu *gpu = twins->gpu;
	const char *from = twins_slot(twins, slot);
	size_t at = twins->slots.labels, labels = count * sizeof(int64_t);
	cuda_address to = twins_start(twins, slot) + twins->copied;
	cuda_result result = CUDA_SUCCESS;

	if (source->samples == from && count == gpu->config.batch)
		return twins_copy_bytes(gpu, to, from, at + labels);
	if (source->mirror == NULL)
		result = twins_copy_bytes(gpu, to, source->samples,
					  count * gpu->config.sample_bytes);
	else if (!twins_converts(twins))
		result = twins_take_samples(twins, slot, source, count);
	return result == CUDA_SUCCESS
		       ? twins_copy_bytes(gpu, to + at, from + at, labels)
		       : result;
}

static cuda_result twins_enqueue_copy(const struct gpu_twins *twins, uint32_t slot,
				      const struct twins_source *source, uint32_t count)
{
	const struct gpu *gpu = twins->gpu;
	const struct gpu_twin *twin = &twins->twins[slot];
	bool converts = twins_converts(twins);
	cuda_result result =
		gpu->cuda.cuStreamWaitEvent(gpu->copying, twin->released, 0);

	if (result == CUDA_SUCCESS && converts) /* a batch that nobody has released */
		result = gpu->cuda.cuStreamWaitEvent(gpu->copying, twin->ready, 0);
	if (result == CUDA_SUCCESS)
		result = gpu->cuda.cuEventRecord(twin->copying, gpu->copying);
	if (result == CUDA_SUCCESS)
		result = twins_copy_slot(twins, slot, source, count);
	return result == CUDA_SUCCESS
		       ? gpu->cuda.cuEventRecord(converts ? twin->copied : twin->ready,
						 gpu->copying)
		       : result;
}

static cuda_result twins_convert(const struct gpu_twins *twins, uint32_t slot,
				 const struct twins_source *source, uint32_t count)
{
	cuda_address start = twins_start(twins, slot);

	return source->mirror != NULL
		       ? twins_take_samples(twins, slot, source, count)
		       : gpu_convert(twins->gpu, start + twins->copied, start, count);
}

static cuda_result twins_enqueue_conversion(const struct gpu_twins *twins,
					    uint32_t slot,
					    const struct twins_source *source,
					    uint32_t count)
{
	const struct gpu *gpu = twins->gpu;
	const struct gpu_twin *twin = &twins->twins[slot];
	cuda_result result =
		gpu->cuda.cuStreamWaitEvent(gpu->converting, twin->copied, 0);

	if (result == CUDA_SUCCESS)
		result = gpu->cuda.cuEventRecord(twin->converting, gpu->converting);
	if (result == CUDA_SUCCESS)
		result = twins_convert(twins, slot, source, count);
	return result == CUDA_SUCCESS
		       ? gpu->cuda.cuEventRecord(twin->ready, gpu->converting)
		       : result;
}

/* What was enqueued of a batch that failed is over before its slot is written again. */
static cuda_result twins_enqueue(struct gpu_twins *twins, uint32_t slot,
				 const struct twins_source *source, uint32_t count)
{
	cuda_result result = twins_enqueue_copy(twins, slot, source, count);

	if (result == CUDA_SUCCESS && twins_converts(twins))
		result = twins_enqueue_conversion(twins, slot, source, count);
	if (result != CUDA_SUCCESS)
		gpu_finish(twins->gpu);
	return result;
}

static void twins_copy(struct gpu_twins *twins, uint32_t slot,
		       const struct twins_source *source, uint32_t count)
{
	const struct gpu_config *config = &twins->gpu->config;
	struct gpu_twin *twin = &twins->twins[slot];
	size_t copied = source->mirror != NULL ? 0 : config->sample_bytes;
	unsigned mode;

	twin->failed = gpu_enter(twins->gpu, &mode);
	if (twin->failed == CUDA_SUCCESS) {
		pthread_mutex_lock(&twins->gpu->lock);
		twin->failed = twins_enqueue(twins, slot, source, count);
		pthread_mutex_unlock(&twins->gpu->lock);
		gpu_leave(twins->gpu, mode);
	}
	twin->under_way = twin->failed == CUDA_SUCCESS;
	trace_add(config->process, TRACE_device_copies, 1);
	trace_add(config->process, TRACE_device_bytes,
		  count * (copied + sizeof(int64_t)));
}

void gpu_twins_copy_from(struct gpu_twins *twins, uint32_t slot, const void *samples,
			 uint32_t count)
{
	const struct twins_source source = {.samples = samples};

	twins_copy(twins, slot, &source, count);
}

void gpu_twins_take(struct gpu_twins *twins, uint32_t slot,
		    const struct gpu_mirror *mirror, size_t offset, uint32_t count)
{
	const struct twins_source source = {.mirror = mirror, .offset = offset};

	twins_copy(twins, slot, &source, count);
}

void gpu_twins_copy(struct gpu_twins *twins, uint32_t slot, uint32_t count)
{
	gpu_twins_copy_from(twins, slot, twins_slot(twins, slot), count);
}

/* ---- the reader's side ---- */

static int twins_fail(const struct gpu_twins *twins, cuda_result result,
		      const char *doing, struct error *err)
{
	int code = cuda_fail(&twins->gpu->cuda, result, doing, err);

	return error_within(err, code, "device");
}

int gpu_twins_wait(struct gpu_twins *twins, uint32_t slot, void *stream,
		   struct gpu_batch *batch, struct error *err)
{
	const struct gpu_twin *twin = &twins->twins[slot];
	cuda_result result = twin->failed;
	unsigned mode;

	if (result == CUDA_SUCCESS)
		result = gpu_enter(twins->gpu, &mode);
	if (result != CUDA_SUCCESS)
		return twins_fail(twins, result, "copying a batch", err);
	result = twins->gpu->cuda.cuStreamWaitEvent(stream, twin->ready, 0);
	gpu_leave(twins->gpu, mode);
	*batch = (struct gpu_batch){
		.data = twins_start(twins, slot),
		.labels =
			twins_start(twins, slot) + twins->copied + twins->slots.labels,
	};
	return result == CUDA_SUCCESS
		       ? 0
		       : twins_fail(twins, result, "cuStreamWaitEvent", err);
}

/* What cannot be marked has to be over before the slot is written again. */
static cuda_result twins_mark_released(struct gpu_twins *twins, uint32_t slot,
				       cuda_stream stream)
{
	const struct cuda *cuda = &twins->gpu->cuda;
	cuda_result result = cuda->cuEventRecord(twins->twins[slot].released, stream);

	if (result != CUDA_SUCCESS)
		cuda->cuCtxSynchronize();
	return result;
}

int gpu_twins_release(struct gpu_twins *twins, uint32_t slot, void *stream,
		      struct error *err)
{
	unsigned mode;
	cuda_result result = gpu_enter(twins->gpu, &mode);

	if (result == CUDA_SUCCESS) {
		result = twins_mark_released(twins, slot, stream);
		if (result == CUDA_SUCCESS)
			result = gpu_note_release(twins->gpu, stream);
		gpu_leave(twins->gpu, mode);
	}
	return result == CUDA_SUCCESS
		       ? 0
		       : twins_fail(twins, result,
				    result == CUDA_ERROR_INVALID_HANDLE
					    ? "a stream was destroyed before a batch "
					      "was released on it"
					    : "cuEventRecord",
				    err);
}

static double twin_ms(const struct cuda *cuda, cuda_event begun, cuda_event ended)
{
	float ms;

	return cuda->cuEventElapsedTime(&ms, begun, ended) == CUDA_SUCCESS ? (double)ms
									   : 0;
}

/* Copies and conversions of batches go on at the same time: a batch takes the longer of the
 * two. */
static uint64_t twins_copy_ns(const struct gpu_twins *twins,
			      const struct gpu_twin *twin)
{
	const struct cuda *cuda = &twins->gpu->cuda;
	double ms = twins_converts(twins)
			    ? fmax(twin_ms(cuda, twin->copying, twin->copied),
				   twin_ms(cuda, twin->converting, twin->ready))
			    : twin_ms(cuda, twin->copying, twin->ready);

	return (uint64_t)(ms * 1e6);
}

void gpu_twins_finish(struct gpu_twins *twins, uint32_t slot)
{
	const struct cuda *cuda = &twins->gpu->cuda;
	struct gpu_twin *twin = &twins->twins[slot];
	unsigned mode;

	if (!twin->under_way || gpu_enter(twins->gpu, &mode) != CUDA_SUCCESS)
		return;
	if (cuda->cuEventSynchronize(twin->ready) == CUDA_SUCCESS)
		trace_add(twins->gpu->config.process, TRACE_device_copy_ns,
			  twins_copy_ns(twins, twin));
	twin->under_way = false;
	gpu_leave(twins->gpu, mode);
}
