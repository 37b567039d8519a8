/* fake_cuda.c - plays NVIDIA's driver where there is none: fake_cuda.h says how. */
#include "tests/tool/fake_cuda.h"
#include "tests/lib/fake_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define EXPORT __attribute__((visibility("default")))

/* The driver's calls that libdsa does not make; the fake's other users do. */
#define OTHER_CALLS(X)                                                                 \
	X(cuDeviceGetName, (char *name, int length, cuda_device device))               \
	X(cuCtxSetCurrent, (cuda_context context))                                     \
	X(cuStreamCreate, (cuda_stream * stream, unsigned flags))                      \
	X(cuEventQuery, (cuda_event event))                                            \
	X(cuMemcpyDtoHAsync_v2,                                                        \
	  (void *to, cuda_address from, size_t bytes, cuda_stream stream))             \
	X(cuMemcpyDtoH_v2, (void *to, cuda_address from, size_t bytes))                \
	X(cuMemsetD8Async,                                                             \
	  (cuda_address to, unsigned char value, size_t bytes, cuda_stream stream))    \
	X(cuModuleLoadDataEx, (cuda_module * module, const void *image,                \
			       unsigned count, unsigned *options, void **values))

#define PROTOTYPE(name, arguments) EXPORT cuda_result name arguments;
CUDA_ALL_CALLS(PROTOTYPE)
OTHER_CALLS(PROTOTYPE)
#undef PROTOTYPE

static _Thread_local struct CUctx_st *stack[DEPTH];
static _Thread_local unsigned depth;
static _Thread_local unsigned capture_mode;

/* ---- calls ---- */

static struct CUctx_st *current(void)
{
	return depth > 0 ? stack[depth - 1] : NULL;
}

/* Of calls that wait: also after a failure, for what is under way. */
static cuda_result present(void)
{
	if (fake.pid == 0 || fake.pid != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	return current() != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* Of calls that need a context. */
static cuda_result ready(void)
{
	cuda_result result = present();

	return result == CUDA_SUCCESS ? fake.sticky : result;
}

/* Of a stream that may have been destroyed. */
static cuda_result usable(const struct CUstream_st *stream)
{
	return (uintptr_t)stream > 2 && stream->closing ? CUDA_ERROR_INVALID_HANDLE
							: ready();
}

/* A graph is recorded, by another thread: a call with which it conflicts invalidates it. */
static cuda_result conflict(cuda_result result)
{
	__atomic_add_fetch(&fake.invalidated, 1, __ATOMIC_RELAXED);
	return result;
}

static bool is_captured(void)
{
	return fake_setting("capture", 0) > 0;
}

/* Of a context's only the streams that wait for its default one conflict with that. */
static bool default_is_captured(const struct CUstream_st *stream)
{
	return (uintptr_t)stream <= 2 && fake_setting("capture", 0) > 1;
}

/* Of calls that may wait, or have others wait: the mode of the thread decides. */
static cuda_result cautious(void)
{
	return is_captured() && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED
		       ? conflict(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
		       : CUDA_SUCCESS;
}

EXPORT unsigned fake_cuda_invalidated(void)
{
	return fake.invalidated;
}

/* With the lock. 0, 1 and 2 are the streams without a handle: one here. */
static struct CUstream_st *stream_of(struct CUstream_st *stream)
{
	struct CUstream_st **plain = &fake.plain[current()->device];

	if ((uintptr_t)stream > 2)
		return stream;
	if (*plain == NULL)
		*plain = fake_stream_new(current());
	return *plain;
}

static cuda_result add(struct CUstream_st *stream, const struct op *op)
{
	cuda_result result = usable(stream);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	fake_stream_add(stream_of(stream), op);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

static uint32_t correlate(void)
{
	return __atomic_add_fetch(&fake.correlation, 1, __ATOMIC_RELAXED);
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
	*context = current();
	return fake.pid == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

EXPORT cuda_result cuCtxSetCurrent(cuda_context context)
{
	depth = depth > 0 ? depth : 1;
	stack[depth - 1] = context;
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuCtxGetDevice(cuda_device *device)
{
	cuda_result result = ready();

	if (result == CUDA_SUCCESS)
		*device = current()->device;
	return result;
}

EXPORT cuda_result cuCtxPushCurrent_v2(cuda_context context)
{
	if (fake.pid != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (context == NULL || depth == DEPTH)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuCtxPopCurrent_v2(cuda_context *context)
{
	if (depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (context != NULL)
		*context = stack[depth];
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return ready();
}

EXPORT cuda_result cuThreadExchangeStreamCaptureMode(unsigned *mode)
{
	unsigned before = capture_mode;

	capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

/* ---- streams and events ---- */

/* Of the graph's stream nobody here has the handle. */
EXPORT cuda_result cuStreamIsCapturing(cuda_stream stream, unsigned *status)
{
	cuda_result result = usable(stream);

	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	if (result == CUDA_SUCCESS && default_is_captured(stream))
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	return result;
}

static cuda_result create_stream(cuda_stream *stream)
{
	cuda_result result = ready();

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	*stream = fake_stream_new(current());
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuStreamCreateWithPriority(cuda_stream *stream, unsigned flags,
					      int priority)
{
	(void)flags, (void)priority;
	return create_stream(stream);
}

EXPORT cuda_result cuStreamCreate(cuda_stream *stream, unsigned flags)
{
	(void)flags;
	return create_stream(stream);
}

/* What was put on it is still done. */
EXPORT cuda_result cuStreamDestroy_v2(cuda_stream stream)
{
	if (fake.pid != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (stream->closing)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&fake.lock);
	stream->closing = true;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
	pthread_detach(stream->thread);
	return CUDA_SUCCESS;
}

static cuda_result synchronize(cuda_stream stream)
{
	cuda_result result = present();

	if (result == CUDA_SUCCESS && usable(stream) == CUDA_ERROR_INVALID_HANDLE)
		result = CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS)
		result = cautious();
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	fake_stream_wait(stream_of(stream));
	pthread_mutex_unlock(&fake.lock);
	return fake.sticky;
}

EXPORT cuda_result cuStreamSynchronize(cuda_stream stream)
{
	return synchronize(stream);
}

EXPORT cuda_result cuEventCreate(cuda_event *event, unsigned flags)
{
	cuda_result result = ready();

	if (result != CUDA_SUCCESS)
		return result;
	*event = calloc(1, sizeof(**event));
	if (*event == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*event)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
	pthread_mutex_lock(&fake.lock);
	(*event)->other = fake.events;
	fake.events = *event;
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

/* One that is waited for, or was recorded and has not come, lives on. */
EXPORT cuda_result cuEventDestroy_v2(cuda_event event)
{
	pthread_mutex_lock(&fake.lock);
	if (event->recorded == event->completed)
		event->recorded = event->completed = UINT64_MAX;
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuEventRecord(cuda_event event, cuda_stream stream)
{
	cuda_result result = usable(stream);
	struct op op = {.kind = OP_RECORD, .event = event};

	if (result != CUDA_SUCCESS)
		return result;
	if (default_is_captured(stream))
		return conflict(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	pthread_mutex_lock(&fake.lock);
	op.time = ++event->recorded;
	fake_stream_add(stream_of(stream), &op);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuStreamWaitEvent(cuda_stream stream, cuda_event event,
				     unsigned flags)
{
	cuda_result result = usable(stream);
	struct op op = {.kind = OP_WAIT, .event = event};

	(void)flags;
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	op.time = event->recorded;
	fake_stream_add(stream_of(stream), &op);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuEventSynchronize(cuda_event event)
{
	cuda_result result = present();
	uint64_t time;

	if (result == CUDA_SUCCESS)
		result = cautious();
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	time = event->recorded;
	while (event->completed < time)
		pthread_cond_wait(&fake.changed, &fake.lock);
	pthread_mutex_unlock(&fake.lock);
	return fake.sticky;
}

EXPORT cuda_result cuEventQuery(cuda_event event)
{
	cuda_result result = ready();

	if (result == CUDA_SUCCESS)
		result = cautious();
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	result = event->completed < event->recorded ? CUDA_ERROR_NOT_READY
						    : CUDA_SUCCESS;
	pthread_mutex_unlock(&fake.lock);
	return result;
}

EXPORT cuda_result cuEventElapsedTime(float *ms, cuda_event start, cuda_event end)
{
	cuda_result result = ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!start->timed || !end->timed || start->recorded == 0 || end->recorded == 0)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&fake.lock);
	if (start->completed < start->recorded || end->completed < end->recorded)
		result = CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(end->time_ns - start->time_ns) / 1e6);
	pthread_mutex_unlock(&fake.lock);
	return result;
}

EXPORT cuda_result cuCtxSynchronize(void)
{
	cuda_result result = present();

	if (result != CUDA_SUCCESS)
		return result;
	if (is_captured())
		return conflict(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (fake_setting("synchronize", 1) == 0)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&fake.lock);
	for (const struct CUstream_st *stream = fake.all; stream != NULL;
	     stream = stream->other)
		fake_stream_wait(stream);
	pthread_mutex_unlock(&fake.lock);
	return fake.sticky;
}

/* ---- memory ---- */

EXPORT cuda_result cuMemAlloc_v2(cuda_address *address, size_t bytes)
{
	cuda_result result = ready();
	int device;
	void *start;

	if (result == CUDA_SUCCESS)
		result = cautious();
	if (result != CUDA_SUCCESS)
		return result;
	device = current()->device;
	pthread_mutex_lock(&fake.lock);
	start = fake.taken[device] + (double)bytes > fake.memory
			? MAP_FAILED
			: mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start != MAP_FAILED) {
		fake.taken[device] += (double)bytes;
		fake.owner[fake_range_add(fake.allocated, start, bytes) -
			   fake.allocated] = device;
	}
	pthread_mutex_unlock(&fake.lock);
	*address = (uintptr_t)start;
	return start == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

EXPORT cuda_result cuMemFree_v2(cuda_address address)
{
	cuda_result result = ready();
	struct range *range;

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	range = fake_range_at(fake.allocated, (void *)(uintptr_t)address);
	if (range != NULL) {
		munmap((void *)range->start, range->bytes);
		fake.taken[fake.owner[range - fake.allocated]] -= (double)range->bytes;
		range->bytes = 0;
	}
	pthread_mutex_unlock(&fake.lock);
	return range != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuda_result cuMemHostRegister_v2(void *start, size_t bytes, unsigned flags)
{
	cuda_result result = ready();
	bool read_only = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0;

	if (result == CUDA_SUCCESS)
		result = cautious();
	if (result != CUDA_SUCCESS)
		return result;
	if (fake.no_register)
		return CUDA_ERROR_NOT_PERMITTED;
	if (read_only && !fake.read_only)
		return CUDA_ERROR_NOT_SUPPORTED;
	/* to pin it for writing needs pages that can be written to */
	if (!read_only && madvise(start, bytes, MADV_POPULATE_WRITE) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&fake.lock);
	fake_range_add(fake.pinned, start, bytes);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuMemHostUnregister(void *start)
{
	cuda_result result = ready();
	struct range *range;

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	range = fake_range_at(fake.pinned, start);
	if (range != NULL && fake_busy(range))
		fake_broken("memory is unregistered while a copy is under way",
			    "register");
	if (range != NULL)
		range->bytes = 0;
	pthread_mutex_unlock(&fake.lock);
	return range != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuda_result cuMemHostAlloc(void **start, size_t bytes, unsigned flags)
{
	cuda_result result = ready();

	(void)flags;
	if (result == CUDA_SUCCESS)
		result = cautious();
	if (result != CUDA_SUCCESS)
		return result;
	*start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (*start == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&fake.lock);
	fake_range_add(fake.pinned, *start, bytes);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuMemFreeHost(void *start)
{
	struct range *range = fake_range_at(fake.pinned, start);
	size_t bytes = range != NULL ? range->bytes : 0;
	cuda_result result = cuMemHostUnregister(start);

	if (result == CUDA_SUCCESS)
		munmap(start, bytes);
	return result;
}

EXPORT cuda_result cuMemcpyHtoDAsync_v2(cuda_address to, const void *from, size_t bytes,
					cuda_stream stream)
{
	struct op op = {
		.kind = OP_COPY_IN,
		.correlation = correlate(),
		.to = (void *)(uintptr_t)to,
		.from = from,
		.bytes = bytes,
	};
	cuda_result result;

	if (fake.fail > 0 &&
	    __atomic_add_fetch(&fake.copies, 1, __ATOMIC_RELAXED) >= fake.fail)
		fake.sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
	result = ready();
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	op.pinned = fake_range_of(fake.pinned, from, bytes) != NULL;
	if (fake_range_of(fake.allocated, op.to, bytes) == NULL)
		result = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&fake.lock);
	if (result != CUDA_SUCCESS)
		return result;
	op.sum = op.pinned ? fake_sum(from, bytes) : 0;
	result = add(stream, &op);
	if (!op.pinned && result == CUDA_SUCCESS) /* no staging here: all of it */
		result = synchronize(stream);
	return result;
}

EXPORT cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_address from, size_t bytes,
					cuda_stream stream)
{
	const struct op op = {
		.kind = OP_COPY_OUT,
		.correlation = correlate(),
		.to = to,
		.from = (void *)(uintptr_t)from,
		.bytes = bytes,
	};

	return add(stream, &op);
}

EXPORT cuda_result cuMemcpyDtoH_v2(void *to, cuda_address from, size_t bytes)
{
	cuda_result result = cuMemcpyDtoHAsync_v2(to, from, bytes, NULL);

	return result == CUDA_SUCCESS ? synchronize(NULL) : result;
}

EXPORT cuda_result cuMemsetD8Async(cuda_address to, unsigned char value, size_t bytes,
				   cuda_stream stream)
{
	const struct op op = {
		.kind = OP_SET,
		.correlation = correlate(),
		.to = (void *)(uintptr_t)to,
		.value = value,
		.bytes = bytes,
	};

	return add(stream, &op);
}

EXPORT cuda_result cuLaunchHostFunc(cuda_stream stream, void (*call)(void *),
				    void *context)
{
	const struct op op = {.kind = OP_CALL, .call = call, .context = context};

	return add(stream, &op);
}

EXPORT cuda_result cuMemcpyDtoDAsync_v2(cuda_address to, cuda_address from,
					size_t bytes, cuda_stream stream)
{
	const struct op op = {
		.kind = OP_COPY_WITHIN,
		.to = (void *)(uintptr_t)to,
		.from = (void *)(uintptr_t)from,
		.bytes = bytes,
	};

	return add(stream, &op);
}

EXPORT cuda_result cuStreamQuery(cuda_stream stream)
{
	cuda_result result = ready();

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	result = stream_of(stream)->first != NULL ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
	pthread_mutex_unlock(&fake.lock);
	return result;
}

/* ---- kernels ---- */

EXPORT cuda_result cuModuleLoadData(cuda_module *module, const void *image)
{
	cuda_result result = ready();
	const char *at = image;

	if (result != CUDA_SUCCESS)
		return result;
	if (fake.no_ptx)
		return 218;
	*module = calloc(1, sizeof(**module));
	if (*module == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < FUNCTIONS && (at = strstr(at, ".entry ")) != NULL;
	     i++) {
		at += strlen(".entry ");
		snprintf((*module)->functions[i].name, NAME, "%.*s",
			 (int)strcspn(at, "( \t\n"), at);
	}
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuModuleLoadDataEx(cuda_module *module, const void *image,
				      unsigned count, unsigned *options, void **values)
{
	(void)count;
	(void)options;
	(void)values;
	return cuModuleLoadData(module, image);
}

EXPORT cuda_result cuModuleUnload(cuda_module module)
{
	free(module);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuModuleGetFunction(cuda_function *function, cuda_module module,
				       const char *name)
{
	for (unsigned i = 0; i < FUNCTIONS; i++)
		if (strcmp(module->functions[i].name, name) == 0) {
			*function = &module->functions[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

/* Parameters of convert.ptx: from, to, area, step, plane, 3 factors, 3 offsets. */
static void read_converting(struct op *op, void **parameters, unsigned count)
{
	const char *type = op->function->name + strlen("convert_");

	op->from = (void *)(uintptr_t) * (cuda_address *)parameters[0];
	op->to = (void *)(uintptr_t) * (cuda_address *)parameters[1];
	op->how.type = strcmp(type, "float32") == 0   ? CONVERTED_F32
		       : strcmp(type, "float16") == 0 ? CONVERTED_F16
						      : CONVERTED_U8;
	op->how.area = *(uint32_t *)parameters[2];
	op->how.step = *(uint32_t *)parameters[3];
	op->how.plane = *(uint32_t *)parameters[4];
	for (int i = 0; i < 3; i++) {
		op->how.factor[i] = *(float *)parameters[5 + i];
		op->how.offset[i] = *(float *)parameters[8 + i];
	}
	op->count = count;
}

EXPORT cuda_result cuLaunchKernel(cuda_function function, unsigned grid_x,
				  unsigned grid_y, unsigned grid_z, unsigned block_x,
				  unsigned block_y, unsigned block_z, unsigned shared,
				  cuda_stream stream, void **parameters, void **extra)
{
	struct op op = {
		.kind = OP_KERNEL,
		.correlation = correlate(),
		.function = function,
	};

	(void)shared;
	(void)extra;
	if (grid_x == 0 || grid_y == 0 || grid_z == 0 || grid_y > 65535 ||
	    grid_z > 65535 || block_x * block_y * block_z > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (strncmp(function->name, "convert_", 8) == 0) {
		read_converting(&op, parameters, grid_x);
		if ((uint64_t)grid_y * block_x < op.how.area)
			fake_broken("a grid smaller than its pictures", function->name);
	} else {
		op.work = *(uint64_t *)parameters[0];
		op.from = (void *)(uintptr_t) * (uint64_t *)parameters[1];
		op.bytes = *(uint64_t *)parameters[2];
	}
	return add(stream, &op);
}
