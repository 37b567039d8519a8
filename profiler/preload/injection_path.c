/* injection_path.c - finds libdsa-cupti.so, unless another tool is there first. */
#include "profiler/injection_path.h"
#include "loader/base/error.h"
#include "loader/base/host/own_folder.h"
#include "loader/base/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY  "libdsa-cupti.so"
#define VARIABLE "CUDA_INJECTION64_PATH"

static void injection_find_plugin(struct injection_path *injection)
{
	const char *set = getenv("NCCL_PROFILER_PLUGIN");

	if (set == NULL || *set == '\0')
		own_folder_find("libdsa-nccl.so", injection->plugin);
}

int injection_path_find(struct injection_path *injection, enum gpu_choice choice,
			struct error *err)
{
	const char *set = getenv(VARIABLE);

	*injection = (struct injection_path){.path = ""};
	if (choice == GPU_NONE)
		return 0;
	injection_find_plugin(injection);
	if (set != NULL && *set != '\0') {
		if (choice == GPU_CUPTI)
			return error_set(err, EBUSY,
					 VARIABLE
					 " is set, and gets the GPUs: %s: "
					 "unset it, or watch none with --gpu=none",
					 set);
		snprintf(injection->taken, sizeof(injection->taken), "%s", set);
		return 0;
	}
	if (own_folder_find(LIBRARY, injection->path) || choice == GPU_AUTO)
		return 0;
	return error_set(err, ENOENT,
			 LIBRARY " lies neither beside dsa nor in ../lib/dsa");
}

void injection_path_say(const struct injection_path *injection, struct trace *trace)
{
	if (injection->taken[0] == '\0')
		return;
	snprintf(trace->cupti_about, sizeof(trace->cupti_about),
		 VARIABLE " was set: %.100s", injection->taken);
	atomic_store(&trace->cupti_said, 1);
}
