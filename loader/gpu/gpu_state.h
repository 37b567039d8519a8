/* gpu_state.h - what the parts of a device share. Private to loader/gpu/. */
#ifndef DSA_GPU_STATE_H
#define DSA_GPU_STATE_H

#include "loader/gpu.h"
#include "loader/gpu/cuda.h"

#include <pthread.h>

/* How bytes become numbers there: convert.ptx. */
struct gpu_converter {
	cuda_module module;     /* NULL: they do not */
	cuda_function function; /* of the type */
	uint32_t area;          /* pixels of a sample */
	uint32_t step, plane; /* from pixel to pixel, from colour to colour: numbers */
	float factor[3], offset[3];
};

struct gpu {
	struct gpu_config config; /* its `converted` is not kept */
	struct cuda cuda;
	cuda_device device;
	cuda_context context;
	bool primary;                    /* the context is the device's, and retained */
	cuda_stream copying, converting; /* the latter makes a mirror's calls, too */
	pthread_mutex_t
		lock; /* held while a batch's work is enqueued, which must not mix */
	struct gpu_converter converter;
	cuda_event edge;      /* of a window, on the default stream */
	cuda_event *released; /* batches, the last times: config.slots */
	_Atomic uint32_t releases;
	cuda_stream
		asking; /* on which the program asks for a batch; NULL: it does not */
	size_t sample_bytes; /* of a twin */
	bool unpinned;
};

/* Around each call of the driver: makes the context current, and what was current before
 * current again. Meanwhile the thread's calls do not invalidate the captures of other
 * threads; *mode: of its captures before, for gpu_leave(). */
cuda_result gpu_enter(const struct gpu *gpu, unsigned *mode);
void gpu_leave(const struct gpu *gpu, unsigned mode);

/* In the context: waits for all copies and conversions. */
void gpu_finish(const struct gpu *gpu);

/* In the context: a batch is released on the stream. Waits for the one of config.slots
 * releases before. */
cuda_result gpu_note_release(struct gpu *gpu, cuda_stream stream);

/* gpu_convert.c, in the context: loads what the device converts with, sets gpu->sample_bytes.
 * 0, or -errno and one line; gpu_convert_close() either way. */
int gpu_convert_open(struct gpu *gpu, const struct prep_config *to, struct error *err);
void gpu_convert_close(struct gpu *gpu);

/* Enqueues it, on `converting`: of the bytes at `from` on the device. */
cuda_result gpu_convert(struct gpu *gpu, cuda_address from, cuda_address to,
			uint32_t count);

/* Where a mirror's bytes are, of `bytes`. */
struct gpu_mirror {
	struct gpu *gpu;
	void *host;    /* of what it is the mirror; NULL: another process's */
	bool pinned;   /* that is registered */
	size_t bytes;  /* of it; and of the device's memory: */
	size_t mapped; /* 0: it is not reserved */
	cuda_memory memory;
	bool made, has, read_only; /* `memory` is there; it is mapped */
	cuda_address start;
	int fd;
	cuda_event copied;          /* of who made it: copies up to the last call */
	_Atomic cuda_result failed; /* a copy could not be enqueued */
};

#endif
