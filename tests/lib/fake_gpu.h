/* fake_gpu.h - the fake driver (tests/tool/cuda/fake_cuda.h) within a unit test, and what a
 * training program does on its device. */
#ifndef DSA_TESTS_FAKE_GPU_H
#define DSA_TESTS_FAKE_GPU_H

#include "loader/gpu/cuda.h"

#include <stddef.h>
#include <stdint.h>

/* What opens the driver from now on finds the fake one, as FAKE_CUDA=settings; the same of
 * one that shares no memory between processes, if none is loaded. */
void fake_gpu(const char *settings);
void fake_gpu_unshared(void);

/* A program: its context, a stream, a kernel that only reads. Made current. */
struct fake_program {
	struct cuda cuda;
	cuda_result (*to_host)(void *to, cuda_address from, size_t bytes,
			       cuda_stream stream);
	cuda_context context;
	cuda_stream stream;
	cuda_module module;
	cuda_function step;
};

void fake_program_open(struct fake_program *program);

/* Puts on the program's stream: a kernel of so much work that reads the bytes, and then a
 * copy of them. */
void fake_program_step(struct fake_program *program, uint64_t work, uint64_t data,
		       size_t bytes, void *copy);

/* Waits for the stream. */
void fake_program_sync(struct fake_program *program);
void fake_program_close(struct fake_program *program);

#endif
