/*
 * fake_call.h - what the calls of the fake driver have in common. Each file of this folder
 * has the calls of one kind; the device behind them is tests/lib/fake_device.h.
 */
#ifndef FAKE_CALL_H
#define FAKE_CALL_H

#include "tests/lib/fake_device.h"

#include <stdbool.h>

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

/* Of the calling thread: its contexts, the current one last, and how it captures. */
struct fake_thread {
	struct CUctx_st *stack[DEPTH];
	unsigned depth, capture_mode;
};

extern _Thread_local struct fake_thread fake_thread;

struct CUctx_st *fake_current(void);

/* Of calls that wait: also after a failure, for what is under way. */
cuda_result fake_present(void);

/* Of calls that need a context. */
cuda_result fake_ready(void);

/* Of a stream that may have been destroyed. */
cuda_result fake_usable(const struct CUstream_st *stream);

/* A graph is recorded, by another thread: a call with which it conflicts invalidates it.
 * Returns `result`. */
cuda_result fake_conflict(cuda_result result);
bool fake_is_captured(void);

/* Of a context's only the streams that wait for its default one conflict with that. */
bool fake_default_is_captured(const struct CUstream_st *stream);

/* Of calls that may wait, or have others wait: the mode of the thread decides. */
cuda_result fake_cautious(void);

/* With the lock. 0, 1 and 2 are the streams without a handle: one here. */
struct CUstream_st *fake_stream_of(struct CUstream_st *stream);

/* Puts an operation on a stream; waits for all that is on one. */
cuda_result fake_add(struct CUstream_st *stream, const struct op *op);
cuda_result fake_synchronize(struct CUstream_st *stream);

/* The number of a call, from 1. */
uint32_t fake_correlate(void);

#endif
