/*
 * gpu_calls.h - the calls of NVIDIA's driver that test tools make, with nothing of the library
 * in between: those that it makes, too, and more.
 */
#ifndef GPU_CALLS_H
#define GPU_CALLS_H

#include "loader/gpu/cuda.h"

#include <stdbool.h>
#include <stdint.h>

typedef unsigned long long gpu_handle; /* of device memory */

/* Where device memory is, and who may use it how. */
struct gpu_place {
	int type, id;
};
struct gpu_access {
	struct gpu_place place;
	int flags;
};
/* What device memory is to be. */
struct gpu_memory {
	int type, handles;
	struct gpu_place place;
	void *unused;
	uint64_t more;
};

enum { GPU_DEVICE = 1, GPU_PINNED = 1, GPU_DESCRIPTOR = 1 };
enum { GPU_READ = 1, GPU_READ_WRITE = 3 }; /* access flags */
enum { GPU_HOST_READ_ONLY = 8 };           /* of cuMemHostRegister */
enum gpu_attribute {
	GPU_MAJOR = 75,
	GPU_MINOR = 76,
	GPU_HOST_REGISTER = 99,
	GPU_VMM = 102,
	GPU_VMM_DESCRIPTOR = 103,
	GPU_READ_ONLY_REGISTER = 113,
};

#define GPU_CALLS(X)                                                                   \
	CUDA_CALLS(X)                                                                  \
	X(cuDeviceGetName, (char *name, int size, cuda_device device))                 \
	X(cuMemcpyDtoH_v2, (void *to, cuda_address from, size_t bytes))                \
	X(cuModuleLoadDataEx, (cuda_module * module, const void *image,                \
			       unsigned count, int *options, void **values))

/* What a driver may lack; a member that it lacks is NULL. Asked for where GPU_VMM_DESCRIPTOR is. */
#define GPU_MORE_CALLS(X)                                                              \
	X(cuMemsetD32_v2, (cuda_address data, unsigned value, size_t count))           \
	X(cuMemGetAllocationGranularity,                                               \
	  (size_t * bytes, const struct gpu_memory *memory, int option))               \
	X(cuMemCreate, (gpu_handle * handle, size_t bytes,                             \
			const struct gpu_memory *memory, unsigned long long flags))    \
	X(cuMemExportToShareableHandle,                                                \
	  (void *fd, gpu_handle handle, int type, unsigned long long flags))           \
	X(cuMemImportFromShareableHandle, (gpu_handle * handle, void *fd, int type))   \
	X(cuMemAddressReserve, (cuda_address * data, size_t bytes, size_t align,       \
				cuda_address address, unsigned long long flags))       \
	X(cuMemMap, (cuda_address data, size_t bytes, size_t offset,                   \
		     gpu_handle handle, unsigned long long flags))                     \
	X(cuMemSetAccess, (cuda_address data, size_t bytes,                            \
			   const struct gpu_access *access, size_t count))

#define GPU_WHY 256

struct gpu_calls {
#define GPU_MEMBER(name, parameters) cuda_result(*name) parameters;
	GPU_CALLS(GPU_MEMBER)
	GPU_MORE_CALLS(GPU_MEMBER)
#undef GPU_MEMBER
	cuda_device device;
	char why[GPU_WHY]; /* the last failure, one line */
};

/* Opens the driver and device 0, and makes its primary context current. False: why tells. */
bool gpu_calls_open(struct gpu_calls *gpu);

/* Whether a call went well; else records its name and its error in why. */
#define GPU_WENT(gpu, call, ...) gpu_calls_went(gpu, #call, (gpu)->call(__VA_ARGS__))
bool gpu_calls_went(struct gpu_calls *gpu, const char *call, cuda_result error);

int gpu_calls_attribute(struct gpu_calls *gpu, enum gpu_attribute attribute);

/* Compiles PTX, and finds a function of it where name is not NULL. */
bool gpu_calls_compile(struct gpu_calls *gpu, const char *ptx, const char *name,
		       cuda_function *function);

/*
 * A line about a check: verdict (ok, FAILED or n/a), check, figure, goal and reason, with tabs
 * between them, as tests/gpu/run reads it.
 */
void gpu_calls_tell(const char *verdict, const char *check, const char *figure,
		    const char *goal, const char *reason);

#endif
