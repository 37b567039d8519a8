/* fake_errors.c - what the fake driver calls its errors. */
#include "tests/lib/fake_device.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT cuda_result cuGetErrorString(cuda_result result, const char **text);

EXPORT cuda_result cuGetErrorString(cuda_result result, const char **text)
{
	static const struct {
		cuda_result result;
		const char *text;
	} texts[] = {
		{CUDA_ERROR_INVALID_VALUE, "invalid argument"},
		{CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
		{CUDA_ERROR_NOT_INITIALIZED, "initialization error"},
		{CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"},
		{CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"},
		{CUDA_ERROR_INVALID_CONTEXT, "invalid device context"},
		{CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
		{218, "a PTX JIT compilation failed"},
		{CUDA_ERROR_ILLEGAL_ADDRESS,
		 "an illegal memory access was encountered"},
		{CUDA_ERROR_NOT_PERMITTED, "operation not permitted"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].result == result) {
			*text = texts[i].text;
			return CUDA_SUCCESS;
		}
	*text = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}
