/*
 * gpu_work.h - a kernel that takes as long as its rounds: numbers of a batch through a chain
 * of steps, each of which needs the one before (gpu_work.ptx).
 */
#ifndef GPU_WORK_H
#define GPU_WORK_H

#include "tests/lib/gpu_calls.h"

enum { GPU_WORK_NUMBERS = 32 }; /* of a batch that it looks at, spread over it */

struct gpu_work {
	struct gpu_calls *gpu;
	cuda_function function;
	cuda_address result;
	uint64_t rounds;
};

bool gpu_work_open(struct gpu_calls *gpu, struct gpu_work *work);

/* Sets the rounds that take so many ms, by launches of a batch that is there. */
bool gpu_work_set_time(struct gpu_work *work, double ms, cuda_address batch,
		       size_t bytes);

/* A batch has 128 bytes at the least. */
bool gpu_work_launch(struct gpu_work *work, cuda_stream stream, cuda_address batch,
		     size_t bytes);

/* Whether the last launch, which has ended, had these bytes: makes its result here. */
bool gpu_work_right(struct gpu_work *work, const void *batch, size_t bytes);

#endif
