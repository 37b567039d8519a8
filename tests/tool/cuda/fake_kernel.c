/* fake_kernel.c - modules and kernels of the fake driver. */
#include "tests/tool/cuda/fake_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXPORT cuda_result cuModuleLoadData(cuda_module *module, const void *image)
{
	cuda_result result = fake_ready();
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
	op->bytes = (uint64_t)count * 3 * op->how.area;
}

EXPORT cuda_result cuLaunchKernel(cuda_function function, unsigned grid_x,
				  unsigned grid_y, unsigned grid_z, unsigned block_x,
				  unsigned block_y, unsigned block_z, unsigned shared,
				  cuda_stream stream, void **parameters, void **extra)
{
	struct op op = {
		.kind = OP_KERNEL,
		.correlation = fake_correlate(),
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
	return fake_add(stream, &op);
}
