/* fake_gpu.c - finds the fake driver beside the tests, and calls it. */
#include "tests/lib/fake_gpu.h"
#include "loader/base/error.h"
#include "tests/lib/test.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* build/.../fake/libcuda.so.1, from build/.../test/NAME. */
static void fake_path(const char *name, char path[PATH_MAX + 32])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

	assert_true(length > 0);
	path[length] = '\0';
	*strrchr(path, '/') = '\0';
	strcpy(strrchr(path, '/'), name);
}

static void fake_load(const char *name, const char *settings)
{
	char path[PATH_MAX + 32];

	fake_path(name, path);
	setenv("FAKE_CUDA", settings, 1);
	/* a library that is loaded is found by its name */
	if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL)
		fail_msg("%s", dlerror());
}

void fake_gpu(const char *settings)
{
	fake_load("/fake/libcuda.so.1", settings);
}

void fake_gpu_unshared(void)
{
	fake_load("/fake/unshared/libcuda.so.1", "");
}

static void took(cuda_result result)
{
	assert_int_equal(result, CUDA_SUCCESS);
}

void fake_program_open(struct fake_program *program)
{
	struct error err = {0};
	const struct cuda *cuda = &program->cuda;

	if (cuda_open(&program->cuda, &err) < 0)
		fail_msg("%s", err.message);
	*(void **)&program->to_host =
		dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyDtoHAsync_v2");
	took(cuda->cuDevicePrimaryCtxRetain(&program->context, 0));
	took(cuda->cuCtxPushCurrent_v2(program->context));
	took(cuda->cuStreamCreateWithPriority(&program->stream, CU_STREAM_NON_BLOCKING,
					      0));
	took(cuda->cuModuleLoadData(&program->module, ".visible .entry step("));
	took(cuda->cuModuleGetFunction(&program->step, program->module, "step"));
}

void fake_program_step(struct fake_program *program, uint64_t work, uint64_t data,
		       size_t bytes, void *copy)
{
	uint64_t length = bytes;
	void *parameters[] = {&work, &data, &length};

	took(program->cuda.cuLaunchKernel(program->step, 1, 1, 1, 1, 1, 1, 0,
					  program->stream, parameters, NULL));
	took(program->to_host(copy, data, bytes, program->stream));
}

void fake_program_sync(struct fake_program *program)
{
	took(program->cuda.cuStreamSynchronize(program->stream));
}

void fake_program_close(struct fake_program *program)
{
	cuda_context popped;

	took(program->cuda.cuModuleUnload(program->module));
	took(program->cuda.cuStreamDestroy_v2(program->stream));
	took(program->cuda.cuCtxPopCurrent_v2(&popped));
	assert_ptr_equal(popped, program->context);
	took(program->cuda.cuDevicePrimaryCtxRelease_v2(0));
}
