/* gpu_buffer.c - copies from the driver's own memory, with which others are compared. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/gpu/gpu_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gpu_buffer {
	struct gpu *gpu;
	size_t bytes;
	void *host;
	cuda_address there;
};

static int buffer_fail(const struct gpu_buffer *buffer, cuda_result result,
		       const char *call, struct error *err)
{
	return error_within(err, cuda_fail(&buffer->gpu->cuda, result, call, err),
			    "device");
}

/* Touches all of it, as the loader does its slots. */
static int buffer_make(struct gpu_buffer *buffer, struct error *err)
{
	const struct cuda *cuda = &buffer->gpu->cuda;
	cuda_result result = cuda->cuMemHostAlloc(&buffer->host, buffer->bytes, 0);

	if (result != CUDA_SUCCESS)
		return buffer_fail(buffer, result, "cuMemHostAlloc", err);
	memset(buffer->host, 1, buffer->bytes);
	result = cuda->cuMemAlloc_v2(&buffer->there, buffer->bytes);
	return result == CUDA_SUCCESS ? 0
				      : buffer_fail(buffer, result, "cuMemAlloc", err);
}

struct gpu_buffer *gpu_buffer_open(struct gpu *gpu, size_t bytes, struct error *err)
{
	struct gpu_buffer *buffer = calloc(1, sizeof(*buffer));
	cuda_result entered;
	unsigned mode;
	int result;

	if (buffer == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot make a buffer"));
	buffer->gpu = gpu;
	buffer->bytes = bytes;
	entered = gpu_enter(gpu, &mode);
	if (entered == CUDA_SUCCESS) {
		result = buffer_make(buffer, err);
		gpu_leave(gpu, mode);
	} else {
		result = buffer_fail(buffer, entered, "cuCtxPushCurrent", err);
	}
	if (result == 0)
		return buffer;
	gpu_buffer_close(buffer);
	return NULL;
}

static cuda_result buffer_run(const struct gpu_buffer *buffer, unsigned count)
{
	const struct gpu *gpu = buffer->gpu;
	cuda_result result = CUDA_SUCCESS;

	for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = gpu->cuda.cuMemcpyHtoDAsync_v2(buffer->there, buffer->host,
							buffer->bytes, gpu->copying);
	return result == CUDA_SUCCESS ? gpu->cuda.cuStreamSynchronize(gpu->copying)
				      : result;
}

int gpu_buffer_copy(struct gpu_buffer *buffer, unsigned count, uint64_t *ns,
		    struct error *err)
{
	uint64_t begun = clock_now();
	unsigned mode;
	cuda_result result = gpu_enter(buffer->gpu, &mode);

	if (result == CUDA_SUCCESS) {
		result = buffer_run(buffer, count);
		gpu_leave(buffer->gpu, mode);
	}
	*ns = clock_now() - begun;
	return result == CUDA_SUCCESS
		       ? 0
		       : buffer_fail(buffer, result, "cuMemcpyHtoDAsync", err);
}

void gpu_buffer_close(struct gpu_buffer *buffer)
{
	unsigned mode;

	if (buffer == NULL)
		return;
	if (gpu_enter(buffer->gpu, &mode) == CUDA_SUCCESS) {
		if (buffer->there != 0)
			buffer->gpu->cuda.cuMemFree_v2(buffer->there);
		if (buffer->host != NULL)
			buffer->gpu->cuda.cuMemFreeHost(buffer->host);
		gpu_leave(buffer->gpu, mode);
	}
	free(buffer);
}
