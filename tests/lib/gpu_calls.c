/* gpu_calls.c - finds the driver's calls, and tells what went wrong by CUDA's own names. */
#include "tests/lib/gpu_calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { LOG = 5, LOG_BYTES = 6, LOG_ROOM = 160 }; /* options of cuModuleLoadDataEx */

static bool gpu_calls_find(struct gpu_calls *gpu)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	const char *missing = NULL;

	if (library == NULL) {
		snprintf(gpu->why, GPU_WHY, "no driver: %s", dlerror());
		return false;
	}
#define GPU_FIND(name, parameters)                                                     \
	*(void **)&gpu->name = dlsym(library, #name);                                  \
	missing = gpu->name == NULL ? #name : missing;
	GPU_MORE_CALLS(GPU_FIND)
	missing = NULL;
	GPU_CALLS(GPU_FIND)
#undef GPU_FIND
	if (missing != NULL)
		snprintf(gpu->why, GPU_WHY, "libcuda.so.1 has no %s", missing);
	return missing == NULL;
}

bool gpu_calls_went(struct gpu_calls *gpu, const char *call, cuda_result error)
{
	const char *text = NULL;

	if (error == 0)
		return true;
	gpu->cuGetErrorString(error, &text);
	snprintf(gpu->why, GPU_WHY, "%s: %s (%u)", call, text == NULL ? "error" : text,
		 error);
	return false;
}

bool gpu_calls_open(struct gpu_calls *gpu)
{
	cuda_context context;
	int count = 0;

	if (!gpu_calls_find(gpu) || !GPU_WENT(gpu, cuInit, 0) ||
	    !GPU_WENT(gpu, cuDeviceGetCount, &count))
		return false;
	if (count == 0)
		snprintf(gpu->why, GPU_WHY, "the driver has no device");
	return count > 0 && GPU_WENT(gpu, cuDeviceGet, &gpu->device, 0) &&
	       GPU_WENT(gpu, cuDevicePrimaryCtxRetain, &context, gpu->device) &&
	       GPU_WENT(gpu, cuCtxPushCurrent_v2, context);
}

int gpu_calls_attribute(struct gpu_calls *gpu, enum gpu_attribute attribute)
{
	int value = 0;

	gpu->cuDeviceGetAttribute(&value, attribute, gpu->device);
	return value;
}

bool gpu_calls_compile(struct gpu_calls *gpu, const char *ptx, const char *name,
		       cuda_function *function)
{
	char log[LOG_ROOM] = "";
	int options[] = {LOG, LOG_BYTES};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	cuda_module module;

	if (!GPU_WENT(gpu, cuModuleLoadDataEx, &module, ptx, 2, options, values)) {
		size_t used = strlen(gpu->why);

		log[strcspn(log, "\n")] = '\0';
		snprintf(gpu->why + used, GPU_WHY - used, "%s%.*s",
			 log[0] == '\0' ? "" : ": ", LOG_ROOM, log);
		return false;
	}
	return name == NULL ||
	       GPU_WENT(gpu, cuModuleGetFunction, function, module, name);
}

void gpu_calls_tell(const char *verdict, const char *check, const char *figure,
		    const char *goal, const char *reason)
{
	printf("%s\t%s\t%s\t%s\t%s\n", verdict, check, figure, goal, reason);
	fflush(stdout);
}
