/* gpu_register.c - memory of others that copies come from. */
#include "loader/gpu/gpu_state.h"

/* Without the attribute the driver pins for writing, which such memory refuses. */
static bool gpu_registers_read_only(const struct gpu *gpu)
{
	int can = 0;

	return gpu->cuda.cuDeviceGetAttribute(
		       &can, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED,
		       gpu->device) == CUDA_SUCCESS &&
	       can != 0;
}

bool gpu_register_read_only(const struct gpu *gpu, const void *start, size_t bytes)
{
	cuda_result result;
	unsigned mode;

	if (!gpu_registers_read_only(gpu) || gpu_enter(gpu, &mode) != CUDA_SUCCESS)
		return false;
	result = gpu->cuda.cuMemHostRegister_v2((void *)(uintptr_t)start, bytes,
						CU_MEMHOSTREGISTER_PORTABLE |
							CU_MEMHOSTREGISTER_READ_ONLY);
	gpu_leave(gpu, mode);
	return result == CUDA_SUCCESS;
}

void gpu_unregister(const struct gpu *gpu, const void *start)
{
	unsigned mode;

	if (gpu_enter(gpu, &mode) != CUDA_SUCCESS)
		return;
	gpu->cuda.cuMemHostUnregister((void *)(uintptr_t)start);
	gpu_leave(gpu, mode);
}
