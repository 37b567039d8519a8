/*
 * cuda.h - the calls of NVIDIA's driver that batches on a device need. The driver is
 * opened by its name on first need: nothing here asks for CUDA's headers or libraries, and
 * a program that does without devices never opens it.
 *
 * Types are declared as the driver's binary interface has them; CONSTANTS and CALLS are
 * compared with <cuda.h> where that is installed (tests/unit/loader/gpu/).
 */
#ifndef DSA_GPU_CUDA_H
#define DSA_GPU_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

typedef int cuda_device; /* ordinal of a device, opened */
typedef unsigned long long cuda_address;
typedef struct CUctx_st *cuda_context;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;
typedef unsigned cuda_result;           /* 0: done */
typedef unsigned long long cuda_memory; /* of a device, not mapped yet */

struct cuda_uuid {
	char bytes[16];
};

struct cuda_place {
	int type, id;
};

/* What memory is made: on which device, and how it can be exported. */
struct cuda_kind {
	int type, handles;
	struct cuda_place place;
	void *unused;
	uint64_t more;
};

struct cuda_access {
	struct cuda_place place;
	int flags;
};

#define CUDA_CONSTANTS(X)                                                              \
	X(CUDA_SUCCESS, 0)                                                             \
	X(CUDA_ERROR_INVALID_VALUE, 1)                                                 \
	X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                 \
	X(CUDA_ERROR_NOT_INITIALIZED, 3)                                               \
	X(CUDA_ERROR_NO_DEVICE, 100)                                                   \
	X(CUDA_ERROR_INVALID_DEVICE, 101)                                              \
	X(CUDA_ERROR_INVALID_CONTEXT, 201)                                             \
	X(CUDA_ERROR_INVALID_HANDLE, 400)                                              \
	X(CUDA_ERROR_NOT_FOUND, 500)                                                   \
	X(CUDA_ERROR_NOT_READY, 600)                                                   \
	X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                             \
	X(CUDA_ERROR_NOT_PERMITTED, 800)                                               \
	X(CUDA_ERROR_NOT_SUPPORTED, 801)                                               \
	X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                                  \
	X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)                                 \
	X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)                                     \
	X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                            \
	X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)                                           \
	X(CU_STREAM_NON_BLOCKING, 1)                                                   \
	X(CU_EVENT_BLOCKING_SYNC, 1)                                                   \
	X(CU_EVENT_DISABLE_TIMING, 2)                                                  \
	X(CU_MEMHOSTREGISTER_PORTABLE, 1)                                              \
	X(CU_MEM_ALLOCATION_TYPE_PINNED, 1)                                            \
	X(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1)                                 \
	X(CU_MEM_LOCATION_TYPE_DEVICE, 1)                                              \
	X(CU_MEM_ACCESS_FLAGS_PROT_READ, 1)                                            \
	X(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3)                                       \
	X(CU_MEMHOSTREGISTER_READ_ONLY, 8)                                             \
	X(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 113)

#ifndef CUDA_VERSION /* <cuda.h> has them */
enum {
#define CUDA_CONSTANT(name, value) name = value,
	CUDA_CONSTANTS(CUDA_CONSTANT)
#undef CUDA_CONSTANT
};
#endif

/* name and arguments of each call; all return a cuda_result. */
#define CUDA_CALLS(X)                                                                  \
	X(cuInit, (unsigned flags))                                                    \
	X(cuDriverGetVersion, (int *version))                                          \
	X(cuGetErrorString, (cuda_result result, const char **text))                   \
	X(cuDeviceGetCount, (int *count))                                              \
	X(cuDeviceGet, (cuda_device * device, int ordinal))                            \
	X(cuDeviceGetAttribute, (int *value, unsigned attribute, cuda_device device))  \
	X(cuDevicePrimaryCtxRetain, (cuda_context * context, cuda_device device))      \
	X(cuDevicePrimaryCtxRelease_v2, (cuda_device device))                          \
	X(cuCtxGetCurrent, (cuda_context * context))                                   \
	X(cuCtxGetDevice, (cuda_device * device))                                      \
	X(cuCtxPushCurrent_v2, (cuda_context context))                                 \
	X(cuCtxPopCurrent_v2, (cuda_context * context))                                \
	X(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                    \
	X(cuStreamCreateWithPriority,                                                  \
	  (cuda_stream * stream, unsigned flags, int priority))                        \
	X(cuStreamDestroy_v2, (cuda_stream stream))                                    \
	X(cuStreamSynchronize, (cuda_stream stream))                                   \
	X(cuStreamWaitEvent, (cuda_stream stream, cuda_event event, unsigned flags))   \
	X(cuEventCreate, (cuda_event * event, unsigned flags))                         \
	X(cuEventDestroy_v2, (cuda_event event))                                       \
	X(cuEventRecord, (cuda_event event, cuda_stream stream))                       \
	X(cuEventSynchronize, (cuda_event event))                                      \
	X(cuEventElapsedTime, (float *ms, cuda_event start, cuda_event end))           \
	X(cuMemAlloc_v2, (cuda_address * address, size_t bytes))                       \
	X(cuMemFree_v2, (cuda_address address))                                        \
	X(cuMemHostAlloc, (void **start, size_t bytes, unsigned flags))                \
	X(cuMemFreeHost, (void *start))                                                \
	X(cuMemHostRegister_v2, (void *start, size_t bytes, unsigned flags))           \
	X(cuMemHostUnregister, (void *start))                                          \
	X(cuMemcpyHtoDAsync_v2,                                                        \
	  (cuda_address to, const void *from, size_t bytes, cuda_stream stream))       \
	X(cuModuleLoadData, (cuda_module * module, const void *image))                 \
	X(cuModuleUnload, (cuda_module module))                                        \
	X(cuModuleGetFunction,                                                         \
	  (cuda_function * function, cuda_module module, const char *name))            \
	X(cuLaunchKernel,                                                              \
	  (cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,  \
	   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,      \
	   cuda_stream stream, void **parameters, void **extra))                       \
	X(cuDevicePrimaryCtxGetState,                                                  \
	  (cuda_device device, unsigned *flags, int *active))                          \
	X(cuThreadExchangeStreamCaptureMode, (unsigned *mode))                         \
	X(cuStreamIsCapturing, (cuda_stream stream, unsigned *status))                 \
	X(cuCtxSynchronize, (void))

/* Those by which processes share memory of a device. */
#define CUDA_SHARE_CALLS(X)                                                            \
	X(cuStreamQuery, (cuda_stream stream))                                         \
	X(cuLaunchHostFunc,                                                            \
	  (cuda_stream stream, void (*call)(void *context), void *context))            \
	X(cuMemcpyDtoDAsync_v2,                                                        \
	  (cuda_address to, cuda_address from, size_t bytes, cuda_stream stream))      \
	X(cuMemExportToShareableHandle,                                                \
	  (void *fd, cuda_memory memory, unsigned type, unsigned long long flags))     \
	X(cuMemImportFromShareableHandle,                                              \
	  (cuda_memory * memory, void *fd, unsigned type))                             \
	X(cuMemRelease, (cuda_memory memory))                                          \
	X(cuMemAddressReserve, (cuda_address * address, size_t bytes, size_t align,    \
				cuda_address wanted, unsigned long long flags))        \
	X(cuMemAddressFree, (cuda_address address, size_t bytes))                      \
	X(cuMemMap, (cuda_address address, size_t bytes, size_t offset,                \
		     cuda_memory memory, unsigned long long flags))                    \
	X(cuMemUnmap, (cuda_address address, size_t bytes))

/* And those with a struct: CUuuid, CUmemAllocationProp, CUmemAccessDesc. */
#define CUDA_STRUCT_CALLS(X)                                                           \
	X(cuDeviceGetUuid, (struct cuda_uuid * uuid, cuda_device device))              \
	X(cuMemGetAllocationGranularity,                                               \
	  (size_t * bytes, const struct cuda_kind *kind, unsigned option))             \
	X(cuMemCreate, (cuda_memory * memory, size_t bytes,                            \
			const struct cuda_kind *kind, unsigned long long flags))       \
	X(cuMemSetAccess, (cuda_address address, size_t bytes,                         \
			   const struct cuda_access *access, size_t count))

#define CUDA_ALL_CALLS(X)                                                              \
	CUDA_CALLS(X)                                                                  \
	CUDA_SHARE_CALLS(X)                                                            \
	CUDA_STRUCT_CALLS(X)

struct cuda {
#define CUDA_MEMBER(name, arguments) cuda_result(*name) arguments;
	CUDA_ALL_CALLS(CUDA_MEMBER)
#undef CUDA_MEMBER
};

/* Those that a program is waited for by: no more is asked of its own driver. */
#define CUDA_IDLE_CALLS(X)                                                             \
	X(cuDeviceGetCount)                                                            \
	X(cuDeviceGet)                                                                 \
	X(cuDevicePrimaryCtxGetState)                                                  \
	X(cuDevicePrimaryCtxRetain)                                                    \
	X(cuDevicePrimaryCtxRelease_v2)                                                \
	X(cuCtxGetCurrent)                                                             \
	X(cuCtxPushCurrent_v2)                                                         \
	X(cuCtxPopCurrent_v2)                                                          \
	X(cuCtxSynchronize)                                                            \
	X(cuStreamIsCapturing)                                                         \
	X(cuThreadExchangeStreamCaptureMode)

enum { CUDA_LEAST = 11000 }; /* version of the driver's interface: 11.0, for PTX 7.0 */

/*
 * Opens and initialises the driver, which is never closed: the process's context and its
 * threads stay. 0, or -errno and one line: there is none, it is too old or lacks a call,
 * or there is no device.
 */
int cuda_open(struct cuda *cuda, struct error *err);

/* True where the program has opened the driver already, which may not be initialised, and it
 * has CUDA_IDLE_CALLS; calls that it lacks are NULL. */
bool cuda_loaded(struct cuda *cuda);

/* Records a failed call: "cuMemAlloc_v2: out of memory". Returns -EIO, or -ENOMEM. */
int cuda_fail(const struct cuda *cuda, cuda_result result, const char *call,
	      struct error *err);

#endif
