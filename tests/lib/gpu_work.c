/* gpu_work.c - launches the kernel, times it, and makes its result on the host. */
#include "tests/lib/gpu_work.h"

#include <stdio.h>
#include <string.h>

extern const char gpu_work_ptx[];
__asm__(".pushsection .rodata\n"
	".global gpu_work_ptx\n"
	".hidden gpu_work_ptx\n"
	"gpu_work_ptx:\n"
	".incbin \"tests/lib/gpu_work.ptx\"\n"
	".byte 0\n"
	".popsection\n");

bool gpu_work_open(struct gpu_calls *gpu, struct gpu_work *work)
{
	*work = (struct gpu_work){.gpu = gpu};
	return gpu_calls_compile(gpu, gpu_work_ptx, "gpu_work", &work->function) &&
	       GPU_WENT(gpu, cuMemAlloc_v2, &work->result,
			GPU_WORK_NUMBERS * sizeof(uint32_t));
}

bool gpu_work_launch(struct gpu_work *work, cuda_stream stream, cuda_address batch,
		     size_t bytes)
{
	uint64_t size = bytes;
	void *parameters[] = {&work->rounds, &batch, &size, &work->result};

	return GPU_WENT(work->gpu, cuLaunchKernel, work->function, 1, 1, 1,
			GPU_WORK_NUMBERS, 1, 1, 0, stream, parameters, NULL);
}

static bool gpu_work_time(struct gpu_work *work, cuda_address batch, size_t bytes,
			  float *ms)
{
	struct gpu_calls *gpu = work->gpu;
	cuda_event begin, end;

	return GPU_WENT(gpu, cuEventCreate, &begin, 0) &&
	       GPU_WENT(gpu, cuEventCreate, &end, 0) &&
	       GPU_WENT(gpu, cuEventRecord, begin, NULL) &&
	       gpu_work_launch(work, NULL, batch, bytes) &&
	       GPU_WENT(gpu, cuEventRecord, end, NULL) &&
	       GPU_WENT(gpu, cuEventSynchronize, end) &&
	       GPU_WENT(gpu, cuEventElapsedTime, ms, begin, end);
}

/* By the last of several launches: clocks rise with work. */
bool gpu_work_set_time(struct gpu_work *work, double ms, cuda_address batch,
		       size_t bytes)
{
	float took = 0;

	work->rounds = 1 << 16;
	for (int turn = 0; turn < 20; turn++) {
		double factor;

		if (!gpu_work_time(work, batch, bytes, &took))
			return false;
		factor = took > 0 ? ms / (double)took : 8;
		work->rounds =
			(uint64_t)((double)work->rounds * (factor < 8 ? factor : 8)) +
			1;
	}
	return true;
}

static uint32_t gpu_work_done(uint32_t number, uint64_t rounds)
{
	while (rounds-- > 0) {
		number = number * 1664525 + 1013904223;
		number ^= number >> 16;
	}
	return number;
}

bool gpu_work_right(struct gpu_work *work, const void *batch, size_t bytes)
{
	uint32_t made[GPU_WORK_NUMBERS], number;

	if (!GPU_WENT(work->gpu, cuMemcpyDtoH_v2, made, work->result, sizeof(made)))
		return false;
	for (size_t i = 0; i < GPU_WORK_NUMBERS; i++) {
		memcpy(&number, (const char *)batch + i * (bytes >> 7) * 4, 4);
		if (made[i] != gpu_work_done(number, work->rounds)) {
			snprintf(work->gpu->why, GPU_WHY,
				 "thread %zu made another number", i);
			return false;
		}
	}
	return true;
}
