/*
 * injection_path.h - the library that CUDA's driver opens in the program, for what
 * devices do: CUDA_INJECTION64_PATH, of which there can be one; and the one that NCCL opens.
 */
#ifndef DSA_INJECTION_PATH_H
#define DSA_INJECTION_PATH_H

#include <limits.h>

struct error;
struct trace;

/* Whether what devices do is watched: where that can be had, by a library that must be
 * there, not at all. */
enum gpu_choice { GPU_AUTO, GPU_CUPTI, GPU_NONE };

struct injection_path {
	char path[PATH_MAX];  /* "": none is set */
	char taken[PATH_MAX]; /* "", or what the variable has already: it is left */
	char plugin
		[PATH_MAX]; /* NCCL_PROFILER_PLUGIN of an observed run; "": it is left as
				* it is */
};

/* 0; with GPU_CUPTI -EBUSY where the variable is set, and -ENOENT where libdsa-cupti.so
 * lies neither beside dsa nor in ../lib/dsa. */
int injection_path_find(struct injection_path *injection, enum gpu_choice choice,
			struct error *err);

/* Says in a session, before the program starts, what stands in the way. */
void injection_path_say(const struct injection_path *injection, struct trace *trace);

#endif
