/* gpu_convert.c - makes the numbers of samples that travelled as bytes. */
#include "loader/base/error.h"
#include "loader/gpu/gpu_state.h"
#include "loader/prep.h"

#include <errno.h>
#include <stdio.h>

/* One block for a sample's next so many pixels; convert.ptx counts with that. */
enum { CONVERT_THREADS = 512 };

#define CONVERT_BYTES(NAME, text, bytes) bytes,
static const size_t convert_bytes[] = {PREP_TYPES(CONVERT_BYTES)};

/* convert.ptx, as text. */
extern const char gpu_convert_ptx[];
__asm__(".pushsection .rodata\n"
	".global gpu_convert_ptx\n"
	".hidden gpu_convert_ptx\n"
	"gpu_convert_ptx:\n"
	".incbin \"loader/gpu/convert.ptx\"\n"
	".byte 0\n"
	".popsection\n");

/* As the host's: out = (value / 255 - mean) / std by one multiplication, one addition. */
static void convert_set(struct gpu_converter *converter, const struct prep_config *to)
{
	converter->area = to->size * to->size;
	converter->step = to->layout == PREP_NHWC ? 3 : 1;
	converter->plane = to->layout == PREP_NHWC ? 1 : converter->area;
	for (int c = 0; c < 3; c++) {
		converter->factor[c] = 1 / (255 * to->std[c]);
		converter->offset[c] = -to->mean[c] / to->std[c];
	}
}

static int convert_load(struct gpu *gpu, const struct prep_config *to,
			struct error *err)
{
	struct gpu_converter *converter = &gpu->converter;
	const struct cuda *cuda = &gpu->cuda;
	char name[32];
	cuda_result result =
		cuda->cuModuleLoadData(&converter->module, gpu_convert_ptx);

	snprintf(name, sizeof(name), "convert_%s", prep_type_names[to->type]);
	if (result == CUDA_SUCCESS)
		result = cuda->cuModuleGetFunction(&converter->function,
						   converter->module, name);
	if (result == CUDA_SUCCESS)
		return 0;
	cuda_fail(cuda, result, "cuModuleLoadData", err);
	return error_within(err, -EIO,
			    "device: it can't convert bytes (transfer=output?)");
}

int gpu_convert_open(struct gpu *gpu, const struct prep_config *to, struct error *err)
{
	struct gpu_converter *converter = &gpu->converter;
	int result = convert_load(gpu, to, err);

	if (result < 0)
		return result;
	convert_set(converter, to);
	gpu->sample_bytes = 3 * convert_bytes[to->type] * converter->area;
	return 0;
}

void gpu_convert_close(struct gpu *gpu)
{
	if (gpu->converter.module != NULL)
		gpu->cuda.cuModuleUnload(gpu->converter.module);
}

cuda_result gpu_convert(struct gpu *gpu, cuda_address from, cuda_address to,
			uint32_t count)
{
	struct gpu_converter *converter = &gpu->converter;
	unsigned blocks = (converter->area + CONVERT_THREADS - 1) / CONVERT_THREADS;
	void *parameters[] = {
		&from,
		&to,
		&converter->area,
		&converter->step,
		&converter->plane,
		&converter->factor[0],
		&converter->factor[1],
		&converter->factor[2],
		&converter->offset[0],
		&converter->offset[1],
		&converter->offset[2],
	};

	return gpu->cuda.cuLaunchKernel(converter->function, count, blocks, 1,
					CONVERT_THREADS, 1, 1, 0, gpu->converting,
					parameters, NULL);
}
