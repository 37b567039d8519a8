/* gpu.c - opens a device: its context, and streams of the loader's own. */
#include "loader/gpu.h"
#include "loader/base/error.h"
#include "loader/gpu/gpu_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

cuda_result gpu_enter(const struct gpu *gpu, unsigned *mode)
{
	cuda_result result = gpu->cuda.cuCtxPushCurrent_v2(gpu->context);

	*mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (result == CUDA_SUCCESS)
		gpu->cuda.cuThreadExchangeStreamCaptureMode(mode);
	return result;
}

void gpu_leave(const struct gpu *gpu, unsigned mode)
{
	cuda_context popped;

	gpu->cuda.cuThreadExchangeStreamCaptureMode(&mode);
	gpu->cuda.cuCtxPopCurrent_v2(&popped);
}

static int gpu_fail(const struct gpu *gpu, cuda_result result, const char *call,
		    struct error *err)
{
	return error_within(err, cuda_fail(&gpu->cuda, result, call, err), "device");
}

/* The context that was taken stays until it is released, if it is the primary one. */
static void gpu_retain(struct gpu *gpu)
{
	const struct cuda *cuda = &gpu->cuda;
	cuda_context primary;
	unsigned flags;
	int active = 0;

	cuda->cuDevicePrimaryCtxGetState(gpu->device, &flags, &active);
	if (!active ||
	    cuda->cuDevicePrimaryCtxRetain(&primary, gpu->device) != CUDA_SUCCESS)
		return;
	gpu->primary = primary == gpu->context;
	if (!gpu->primary)
		cuda->cuDevicePrimaryCtxRelease_v2(gpu->device);
}

/* The current context, if it is of the device that is wanted. */
static bool gpu_take_current(struct gpu *gpu)
{
	const struct cuda *cuda = &gpu->cuda;
	bool takes = cuda->cuCtxGetCurrent(&gpu->context) == CUDA_SUCCESS &&
		     gpu->context != NULL &&
		     cuda->cuCtxGetDevice(&gpu->device) == CUDA_SUCCESS &&
		     (gpu->config.ordinal < 0 || gpu->device == gpu->config.ordinal);

	if (takes)
		gpu_retain(gpu);
	return takes;
}

static int gpu_take_primary(struct gpu *gpu, struct error *err)
{
	int ordinal = gpu->config.ordinal < 0 ? 0 : gpu->config.ordinal, count = 0;
	const struct cuda *cuda = &gpu->cuda;
	cuda_result result = cuda->cuDeviceGet(&gpu->device, ordinal);

	if (result == CUDA_ERROR_INVALID_DEVICE) {
		cuda->cuDeviceGetCount(&count);
		return error_set(err, ENODEV, "device: there is no cuda:%d, but %d",
				 ordinal, count);
	}
	if (result == CUDA_SUCCESS)
		result = cuda->cuDevicePrimaryCtxRetain(&gpu->context, gpu->device);
	if (result != CUDA_SUCCESS)
		return gpu_fail(gpu, result, "cuDevicePrimaryCtxRetain", err);
	gpu->primary = true;
	return 0;
}

/* Before the program's own streams where both have work: a copy is short. */
static int gpu_make_streams(struct gpu *gpu, struct error *err)
{
	cuda_stream *streams[] = {&gpu->copying, &gpu->converting};
	int least = 0, greatest = 0;
	cuda_result result = gpu->cuda.cuCtxGetStreamPriorityRange(&least, &greatest);

	for (unsigned i = 0; i < 2 && result == CUDA_SUCCESS; i++)
		result = gpu->cuda.cuStreamCreateWithPriority(
			streams[i], CU_STREAM_NON_BLOCKING, greatest);
	return result == CUDA_SUCCESS
		       ? 0
		       : gpu_fail(gpu, result, "cuStreamCreateWithPriority", err);
}

static int gpu_make_events(struct gpu *gpu, struct error *err)
{
	const unsigned flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC;
	cuda_result result = gpu->cuda.cuEventCreate(&gpu->edge, flags);

	gpu->released = calloc(gpu->config.slots, sizeof(*gpu->released));
	if (gpu->released == NULL)
		return error_sys(err, ENOMEM, "cannot open the device");
	for (uint32_t i = 0; i < gpu->config.slots && result == CUDA_SUCCESS; i++)
		result = gpu->cuda.cuEventCreate(&gpu->released[i], flags);
	return result == CUDA_SUCCESS ? 0 : gpu_fail(gpu, result, "cuEventCreate", err);
}

static void gpu_free_streams(const struct gpu *gpu)
{
	cuda_stream streams[] = {gpu->copying, gpu->converting};

	for (unsigned i = 0; i < 2; i++)
		if (streams[i] != NULL)
			gpu->cuda.cuStreamDestroy_v2(streams[i]);
}

static void gpu_free_events(const struct gpu *gpu)
{
	if (gpu->edge != NULL)
		gpu->cuda.cuEventDestroy_v2(gpu->edge);
	for (uint32_t i = 0; gpu->released != NULL && i < gpu->config.slots; i++)
		if (gpu->released[i] != NULL)
			gpu->cuda.cuEventDestroy_v2(gpu->released[i]);
}

static int gpu_make(struct gpu *gpu, const struct prep_config *converted,
		    struct error *err)
{
	unsigned mode;
	cuda_result entered = gpu_enter(gpu, &mode);
	int result;

	if (entered != CUDA_SUCCESS)
		return gpu_fail(gpu, entered, "cuCtxPushCurrent", err);
	result = gpu_make_streams(gpu, err);
	if (result == 0)
		result = gpu_make_events(gpu, err);
	if (result == 0 && converted != NULL)
		result = gpu_convert_open(gpu, converted, err);
	gpu_leave(gpu, mode);
	return result;
}

struct gpu *gpu_open(const struct gpu_config *config, struct error *err)
{
	struct gpu *gpu = calloc(1, sizeof(*gpu));
	int result;

	if (gpu == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot open the device"));
	gpu->config = *config;
	gpu->config.converted = NULL;
	gpu->sample_bytes = config->sample_bytes;
	pthread_mutex_init(&gpu->lock, NULL);
	result = cuda_open(&gpu->cuda, err);
	if (result == 0 && !gpu_take_current(gpu)) {
		gpu->context = NULL;
		result = gpu_take_primary(gpu, err);
	}
	if (result == 0)
		result = gpu_make(gpu, config->converted, err);
	if (result == 0)
		return gpu;
	gpu_close(gpu);
	return NULL;
}

void gpu_close(struct gpu *gpu)
{
	unsigned mode;

	if (gpu == NULL)
		return;
	if (gpu->context != NULL && gpu_enter(gpu, &mode) == CUDA_SUCCESS) {
		gpu_convert_close(gpu);
		gpu_free_streams(gpu);
		gpu_free_events(gpu);
		gpu_leave(gpu, mode);
	}
	if (gpu->primary)
		gpu->cuda.cuDevicePrimaryCtxRelease_v2(gpu->device);
	pthread_mutex_destroy(&gpu->lock);
	free(gpu->released);
	free(gpu);
}

void gpu_finish(const struct gpu *gpu)
{
	gpu->cuda.cuStreamSynchronize(gpu->copying);
	gpu->cuda.cuStreamSynchronize(gpu->converting);
}

cuda_result gpu_note_release(struct gpu *gpu, cuda_stream stream)
{
	cuda_event event = gpu->released[gpu->releases++ % gpu->config.slots];
	cuda_result result = gpu->cuda.cuEventSynchronize(event);

	return result == CUDA_SUCCESS ? gpu->cuda.cuEventRecord(event, stream) : result;
}

void gpu_set_asking(struct gpu *gpu, void *stream)
{
	gpu->asking = stream;
}

struct gpu_facts gpu_facts(const struct gpu *gpu)
{
	struct gpu_facts facts = {
		.unpinned = gpu->unpinned,
		.converts = gpu->converter.module != NULL,
		.sample_bytes = gpu->sample_bytes,
		.copied_per_sample = gpu->config.sample_bytes + sizeof(int64_t),
	};

	snprintf(facts.name, sizeof(facts.name), "cuda:%d", gpu->device);
	return facts;
}
