/*
 * fake_cuda.h - what tests and other fakes ask of the fake driver, beyond its calls.
 *
 * tests/tool/cuda/ is built as libcuda.so.1 in build/.../fake/, which tests put on
 * LD_LIBRARY_PATH. Streams keep their order; copies, conversions and kernels take the time
 * that a device of FAKE_CUDA would take, one copy and one kernel at a time a device, and
 * do what they do when they end. Memory of a device is memory of the process.
 *
 * FAKE_CUDA is "key=value,key=value":
 *
 *	devices=N	[1]; 0: the driver finds none
 *	version=N	of cuDriverGetVersion [13000]
 *	rate=BYTES	that a copy moves in a second [10e9]
 *	unit=NS		that a unit of a kernel's work takes [1]
 *	call=NS		that a function of the host takes to be called [0]
 *	memory=BYTES	of a device [1e12]
 *	register=refused	no memory can be registered
 *	readonly=1	memory that can only be read can be registered
 *	mirror=1	memory of other processes can't be mapped read-only
 *	ptx=refused	no module can be loaded
 *	capture=N	another thread records a graph on a stream of the context; 2: on
 *			one that waits for the default stream. Calls that conflict with
 *			that fail, and invalidate it: a context that is waited for; with
 *			2, work on the default stream; but in relaxed mode what waits or
 *			makes room
 *	synchronize=0	a context that is waited for is not
 *	fail=N		the Nth copy from the host, and all that comes after it, fails
 *
 * cuInit() reads it, each time, and forgets what failed.
 *
 * It ends the process with a line where a program breaks the rules that a device can't
 * check: host memory that changes between the call and the end of its copy, is
 * unregistered or not mapped meanwhile; device memory that changes while a kernel reads
 * it; a call without a context.
 *
 * A kernel is one of convert.ptx, which writes what tests/lib/converted.h says; or any
 * other that an image has: then its parameters are (uint64_t work, uint64_t data,
 * uint64_t bytes), it takes work x unit, and reads bytes at data from begin to end.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdint.h>

enum fake_cuda_kind { FAKE_KERNEL, FAKE_COPY_IN, FAKE_COPY_OUT, FAKE_MEMSET };

struct fake_cuda_work {
	enum fake_cuda_kind kind;
	int device;
	uint32_t stream;           /* number of it, from 1 */
	uint32_t correlation;      /* number of the call, from 1 */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t bytes;
	const char *name; /* of a kernel */
};

/* Calls `done` for each piece of work when it has ended, from the driver's threads, one
 * call at a time. By dlsym(): "fake_cuda_watch". */
typedef void fake_cuda_done(const struct fake_cuda_work *work);
void fake_cuda_watch(fake_cuda_done *done);

/* How often a capture was invalidated. By dlsym(), too. */
unsigned fake_cuda_invalidated(void);

#endif
