/* fake_context.c - the fake driver, its devices and contexts: fake_cuda.h says how. */
#include "tests/tool/cuda/fake_call.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

EXPORT unsigned fake_cuda_invalidated(void)
{
	return fake.invalidated;
}

EXPORT void fake_cuda_watch(fake_cuda_done *done)
{
	pthread_mutex_lock(&fake.watch_lock);
	fake.watch = done;
	pthread_mutex_unlock(&fake.watch_lock);
}

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path != NULL ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = NULL;

	if (library != NULL)
		*(void **)&begin = dlsym(library, "InitializeInjection");
	if (begin != NULL)
		begin();
}

EXPORT cuda_result cuInit(unsigned flags)
{
	bool first;

	pthread_mutex_lock(&fake.lock);
	fake_settings();
	first = !fake.injected;
	fake.injected = true;
	if (fake.devices > 0 && fake.pid == 0)
		fake.pid = getpid();
	pthread_mutex_unlock(&fake.lock);
	if (first)
		inject();
	if (fake.devices == 0)
		return CUDA_ERROR_NO_DEVICE;
	if (fake.pid != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuda_result cuDriverGetVersion(int *version)
{
	*version = (int)fake_setting("version", 13000);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuDeviceGetCount(int *count)
{
	*count = fake.devices;
	return fake.pid != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

EXPORT cuda_result cuDeviceGet(cuda_device *device, int ordinal)
{
	*device = ordinal;
	return ordinal >= 0 && ordinal < fake.devices ? CUDA_SUCCESS
						      : CUDA_ERROR_INVALID_DEVICE;
}

EXPORT cuda_result cuDeviceGetName(char *name, int length, cuda_device device)
{
	snprintf(name, (size_t)length, "fake device %d", device);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuDeviceGetAttribute(int *value, unsigned attribute,
					cuda_device device)
{
	(void)device;
	*value = 0;
	if (attribute == 75) /* compute capability 8.0 */
		*value = 8;
	else if (attribute == 99) /* host memory can be registered */
		*value = 1;
	else if (attribute == CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED)
		*value = fake.read_only;
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device)
{
	fake.contexts[device].references++;
	*context = &fake.contexts[device];
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
	fake.contexts[device].references--;
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuDevicePrimaryCtxGetState(cuda_device device, unsigned *flags,
					      int *active)
{
	*flags = 0;
	*active = fake.contexts[device].references > 0;
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuCtxGetCurrent(cuda_context *context)
{
	*context = fake_current();
	return fake.pid == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

EXPORT cuda_result cuCtxSetCurrent(cuda_context context)
{
	fake_thread.depth = fake_thread.depth > 0 ? fake_thread.depth : 1;
	fake_thread.stack[fake_thread.depth - 1] = context;
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuCtxGetDevice(cuda_device *device)
{
	cuda_result result = fake_ready();

	if (result == CUDA_SUCCESS)
		*device = fake_current()->device;
	return result;
}

EXPORT cuda_result cuCtxPushCurrent_v2(cuda_context context)
{
	if (fake.pid != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (context == NULL || fake_thread.depth == DEPTH)
		return CUDA_ERROR_INVALID_CONTEXT;
	fake_thread.stack[fake_thread.depth++] = context;
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuCtxPopCurrent_v2(cuda_context *context)
{
	if (fake_thread.depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	fake_thread.depth--;
	if (context != NULL)
		*context = fake_thread.stack[fake_thread.depth];
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return fake_ready();
}

EXPORT cuda_result cuThreadExchangeStreamCaptureMode(unsigned *mode)
{
	unsigned before = fake_thread.capture_mode;

	fake_thread.capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}
