/* mirror.c - memory of a device that several processes map, and copies to it. */
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "loader/gpu/gpu_state.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { DESCRIPTOR = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };

struct gpu_uuid gpu_uuid(const struct gpu *gpu)
{
	struct gpu_uuid uuid = {{0}};
	struct cuda_uuid its;

	if (gpu->cuda.cuDeviceGetUuid(&its, gpu->device) == CUDA_SUCCESS)
		for (size_t i = 0; i < sizeof(uuid.bytes); i++)
			uuid.bytes[i] = its.bytes[i];
	return uuid;
}

static int mirror_fail(const struct gpu_mirror *mirror, cuda_result result,
		       const char *call, struct error *err)
{
	return error_within(err, cuda_fail(&mirror->gpu->cuda, result, call, err),
			    "device");
}

static struct cuda_kind mirror_kind(const struct gpu_mirror *mirror)
{
	return (struct cuda_kind){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handles = DESCRIPTOR,
		.place = {CU_MEM_LOCATION_TYPE_DEVICE, mirror->gpu->device},
	};
}

static struct gpu_mirror *mirror_new(struct gpu *gpu, void *host, size_t bytes)
{
	struct gpu_mirror *mirror = calloc(1, sizeof(*mirror));

	if (mirror == NULL)
		return NULL;
	mirror->gpu = gpu;
	mirror->host = host;
	mirror->bytes = bytes;
	mirror->fd = -1;
	return mirror;
}

static cuda_result mirror_set_access(struct gpu_mirror *mirror, int flags)
{
	const struct cuda_access access = {
		{CU_MEM_LOCATION_TYPE_DEVICE, mirror->gpu->device}, flags};

	return mirror->gpu->cuda.cuMemSetAccess(mirror->start, mirror->mapped, &access,
						1);
}

/* In the context: finds room for the memory that there is, and maps it there. */
static cuda_result mirror_map(struct gpu_mirror *mirror)
{
	const struct cuda *cuda = &mirror->gpu->cuda;
	const struct cuda_kind kind = mirror_kind(mirror);
	size_t unit = 0, bytes;
	cuda_result result = cuda->cuMemGetAllocationGranularity(&unit, &kind, 0);

	if (result != CUDA_SUCCESS)
		return result;
	bytes = (mirror->bytes + unit - 1) / unit * unit;
	if (!mirror->made) {
		result = cuda->cuMemCreate(&mirror->memory, bytes, &kind, 0);
		mirror->made = result == CUDA_SUCCESS;
	}
	if (result == CUDA_SUCCESS)
		result = cuda->cuMemAddressReserve(&mirror->start, bytes, 0, 0, 0);
	if (result != CUDA_SUCCESS)
		return result;
	mirror->mapped = bytes;
	result = cuda->cuMemMap(mirror->start, bytes, 0, mirror->memory, 0);
	mirror->has = result == CUDA_SUCCESS;
	return result;
}

static int mirror_make(struct gpu_mirror *mirror, struct error *err)
{
	const struct cuda *cuda = &mirror->gpu->cuda;
	cuda_result result = mirror_map(mirror);

	if (result == CUDA_SUCCESS)
		result = mirror_set_access(mirror, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	if (result == CUDA_SUCCESS)
		result = cuda->cuMemExportToShareableHandle(&mirror->fd, mirror->memory,
							    DESCRIPTOR, 0);
	if (result != CUDA_SUCCESS) {
		mirror_fail(mirror, result, "cuMemCreate", err);
		return error_within(err, -ENOMEM, "%zu MB that jobs share",
				    mirror->bytes >> 20);
	}
	result = cuda->cuEventCreate(&mirror->copied, CU_EVENT_DISABLE_TIMING);
	if (result != CUDA_SUCCESS)
		return mirror_fail(mirror, result, "cuEventCreate", err);
	mirror->pinned =
		cuda->cuMemHostRegister_v2(mirror->host, mirror->bytes,
					   CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS;
	mirror->gpu->unpinned = !mirror->pinned;
	return 0;
}

struct gpu_mirror *gpu_mirror_make(struct gpu *gpu, void *start, size_t bytes,
				   struct error *err)
{
	struct gpu_mirror *mirror = mirror_new(gpu, start, bytes);
	int result = -EIO;
	unsigned mode;

	if (mirror == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot make the mirror"));
	if (gpu_enter(gpu, &mode) == CUDA_SUCCESS) {
		result = mirror_make(mirror, err);
		gpu_leave(gpu, mode);
	} else {
		error_set(err, EIO, "device: its context is gone");
	}
	if (result == 0)
		return mirror;
	gpu_mirror_close(mirror);
	return NULL;
}

int gpu_mirror_fd(const struct gpu_mirror *mirror)
{
	return mirror->fd;
}

static bool mirror_import(struct gpu_mirror *mirror, int fd)
{
	const struct cuda *cuda = &mirror->gpu->cuda;

	mirror->made = cuda->cuMemImportFromShareableHandle(&mirror->memory,
							    (void *)(intptr_t)fd,
							    DESCRIPTOR) == CUDA_SUCCESS;
	if (!mirror->made || mirror_map(mirror) != CUDA_SUCCESS)
		return false;
	mirror->read_only = mirror_set_access(mirror, CU_MEM_ACCESS_FLAGS_PROT_READ) ==
			    CUDA_SUCCESS;
	return mirror->read_only ||
	       mirror_set_access(mirror, CU_MEM_ACCESS_FLAGS_PROT_READWRITE) ==
		       CUDA_SUCCESS;
}

struct gpu_mirror *gpu_mirror_map(struct gpu *gpu, int fd, size_t bytes)
{
	struct gpu_mirror *mirror = mirror_new(gpu, NULL, bytes);
	bool can = false;
	unsigned mode;

	if (mirror != NULL && gpu_enter(gpu, &mode) == CUDA_SUCCESS) {
		can = mirror_import(mirror, fd);
		gpu_leave(gpu, mode);
	}
	if (can)
		return mirror;
	gpu_mirror_close(mirror);
	return NULL;
}

bool gpu_mirror_read_only(const struct gpu_mirror *mirror)
{
	return mirror->read_only;
}

static void mirror_free(const struct gpu_mirror *mirror)
{
	const struct cuda *cuda = &mirror->gpu->cuda;

	gpu_finish(mirror->gpu);
	if (mirror->copied != NULL)
		cuda->cuEventDestroy_v2(mirror->copied);
	if (mirror->pinned)
		cuda->cuMemHostUnregister(mirror->host);
	if (mirror->has)
		cuda->cuMemUnmap(mirror->start, mirror->mapped);
	if (mirror->mapped > 0)
		cuda->cuMemAddressFree(mirror->start, mirror->mapped);
	if (mirror->made)
		cuda->cuMemRelease(mirror->memory);
}

void gpu_mirror_close(struct gpu_mirror *mirror)
{
	unsigned mode;

	if (mirror == NULL)
		return;
	if (gpu_enter(mirror->gpu, &mode) == CUDA_SUCCESS) {
		mirror_free(mirror);
		gpu_leave(mirror->gpu, mode);
	}
	if (mirror->fd >= 0)
		close(mirror->fd);
	free(mirror);
}

/* ---- the writer ---- */

static void mirror_note(struct gpu_mirror *mirror, cuda_result result)
{
	if (result != CUDA_SUCCESS)
		mirror->failed = result;
}

void gpu_mirror_copy(struct gpu_mirror *mirror, size_t offset, size_t bytes)
{
	const struct gpu *gpu = mirror->gpu;
	unsigned mode;
	cuda_result result = gpu_enter(gpu, &mode);

	if (result == CUDA_SUCCESS) {
		result = gpu->cuda.cuMemcpyHtoDAsync_v2(
			mirror->start + offset, (const char *)mirror->host + offset,
			bytes, gpu->copying);
		gpu_leave(gpu, mode);
	}
	mirror_note(mirror, result);
	trace_add(gpu->config.process, TRACE_device_copies, 1);
	trace_add(gpu->config.process, TRACE_device_bytes, bytes);
}

/* On the other stream: behind a call of the host the next copy would wait until a thread has
 * made it. */
static cuda_result mirror_enqueue_call(const struct gpu_mirror *mirror,
				       void (*call)(void *context), void *context)
{
	const struct gpu *gpu = mirror->gpu;
	const struct cuda *cuda = &gpu->cuda;
	cuda_result result = cuda->cuEventRecord(mirror->copied, gpu->copying);

	if (result == CUDA_SUCCESS)
		result = cuda->cuStreamWaitEvent(gpu->converting, mirror->copied, 0);
	return result == CUDA_SUCCESS
		       ? cuda->cuLaunchHostFunc(gpu->converting, call, context)
		       : result;
}

void gpu_mirror_call(struct gpu_mirror *mirror, void (*call)(void *context),
		     void *context)
{
	const struct gpu *gpu = mirror->gpu;
	cuda_result result = mirror->failed;
	unsigned mode;

	if (result == CUDA_SUCCESS)
		result = gpu_enter(gpu, &mode);
	if (result == CUDA_SUCCESS) {
		result = mirror_enqueue_call(mirror, call, context);
		gpu_leave(gpu, mode);
	}
	mirror_note(mirror, result);
}

static int mirror_judge(const struct gpu_mirror *mirror,
			cuda_result (*ask)(cuda_stream stream), struct error *err)
{
	const struct gpu *gpu = mirror->gpu;
	cuda_result result = mirror->failed;
	unsigned mode;

	if (result == CUDA_SUCCESS)
		result = gpu_enter(gpu, &mode);
	if (result != CUDA_SUCCESS)
		return mirror_fail(mirror, result, "copying to it", err);
	result = ask(gpu->copying);
	if (result == CUDA_SUCCESS)
		result = ask(gpu->converting);
	gpu_leave(gpu, mode);
	return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY
		       ? 0
		       : mirror_fail(mirror, result, "copying to it", err);
}

int gpu_mirror_check(const struct gpu_mirror *mirror, struct error *err)
{
	return mirror_judge(mirror, mirror->gpu->cuda.cuStreamQuery, err);
}

int gpu_mirror_finish(const struct gpu_mirror *mirror, struct error *err)
{
	return mirror_judge(mirror, mirror->gpu->cuda.cuStreamSynchronize, err);
}
