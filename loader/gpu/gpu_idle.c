/* gpu_idle.c - waits for what a program gave its devices, if it uses any. */
#include "loader/base/trace.h"
#include "loader/gpu/gpu_state.h"

/* All that a graph under record gives. */
static bool gpu_is_captured(cuda_result result)
{
	return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
	       result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

static uint32_t gpu_awaited(cuda_result result)
{
	return gpu_is_captured(result)  ? TRACE_CAPTURED
	       : result == CUDA_SUCCESS ? TRACE_AWAITED
					: TRACE_UNAWAITED;
}

/*
 * Whether a stream of the thread's context is captured: to wait for it, or, of the default
 * one, for any other that waits for that by itself, would invalidate the capture; to ask
 * does not.
 */
static cuda_result gpu_ask_captured(const struct cuda *cuda, cuda_stream stream)
{
	unsigned status = CU_STREAM_CAPTURE_STATUS_NONE;
	cuda_result result = cuda->cuStreamIsCapturing(stream, &status);

	return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE
		       ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
		       : result;
}

/* In the context: all of it. */
static cuda_result gpu_await_context(const struct cuda *cuda)
{
	cuda_result result = gpu_ask_captured(cuda, NULL);

	return result == CUDA_SUCCESS ? cuda->cuCtxSynchronize() : result;
}

/* A device's primary context, if the program has it. */
static uint32_t gpu_await_primary(const struct cuda *cuda, cuda_device device)
{
	cuda_context context;
	unsigned flags;
	int active = 0;
	uint32_t awaited = TRACE_NO_DEVICES;

	if (cuda->cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS ||
	    !active || cuda->cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
		return TRACE_NO_DEVICES;
	if (cuda->cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {
		awaited = gpu_awaited(gpu_await_context(cuda));
		cuda->cuCtxPopCurrent_v2(&context);
	}
	cuda->cuDevicePrimaryCtxRelease_v2(device);
	return awaited;
}

static uint32_t gpu_await_all(const struct cuda *cuda)
{
	uint32_t most = TRACE_NO_DEVICES;
	int count = 0;

	cuda->cuDeviceGetCount(&count);
	for (int i = 0; i < count; i++) {
		cuda_device device;
		uint32_t awaited = TRACE_NO_DEVICES;

		if (cuda->cuDeviceGet(&device, i) == CUDA_SUCCESS)
			awaited = gpu_await_primary(cuda, device);
		most = awaited > most ? awaited : most;
	}
	return most;
}

uint32_t gpu_idle(void)
{
	struct cuda cuda;
	cuda_context current = NULL;
	unsigned mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint32_t awaited;

	/* Not initialised: there is nothing to wait for, and it stays so. */
	if (!cuda_loaded(&cuda) || cuda.cuCtxGetCurrent(&current) != CUDA_SUCCESS)
		return TRACE_NO_DEVICES;
	cuda.cuThreadExchangeStreamCaptureMode(&mode);
	awaited = current != NULL ? gpu_awaited(gpu_await_context(&cuda))
				  : gpu_await_all(&cuda);
	cuda.cuThreadExchangeStreamCaptureMode(&mode);
	return awaited;
}

/* In the context. */
static cuda_result gpu_await_streams(const struct gpu *gpu)
{
	const struct cuda *cuda = &gpu->cuda;
	cuda_result result = gpu_ask_captured(cuda, NULL);

	if (result == CUDA_SUCCESS)
		result = gpu_ask_captured(cuda, gpu->asking);
	if (result == CUDA_SUCCESS)
		result = cuda->cuEventRecord(gpu->edge, NULL);
	if (result == CUDA_SUCCESS)
		result = cuda->cuEventSynchronize(gpu->edge);
	for (uint32_t i = 0; i < gpu->config.slots && result == CUDA_SUCCESS; i++)
		result = cuda->cuEventSynchronize(gpu->released[i]);
	if (result == CUDA_SUCCESS && gpu->asking != NULL)
		result = cuda->cuStreamSynchronize(gpu->asking);
	return result;
}

uint32_t gpu_idle_but_copies(const struct gpu *gpu)
{
	unsigned mode;
	uint32_t awaited;

	if (gpu_enter(gpu, &mode) != CUDA_SUCCESS)
		return TRACE_NO_DEVICES;
	awaited = gpu_awaited(gpu_await_streams(gpu));
	gpu_leave(gpu, mode);
	return awaited;
}
