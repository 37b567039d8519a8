/* cuda.c - opens NVIDIA's driver, and says what it refused. */
#include "loader/gpu/cuda.h"
#include "loader/base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define CUDA_DRIVER "libcuda.so.1"

static const char *const cuda_names[] = {
#define CUDA_NAME(name, arguments) #name,
	CUDA_ALL_CALLS(CUDA_NAME)
#undef CUDA_NAME
};

enum { CUDA_COUNT = sizeof(cuda_names) / sizeof(cuda_names[0]) };

/* Fills the table, whose members are pointers in the order of the names: NULL, what the
 * library lacks. Returns the first of these; NULL: it has them all. */
static const char *cuda_find(void *library, struct cuda *cuda)
{
	const char *lacks = NULL;
	void *calls[CUDA_COUNT];

	_Static_assert(sizeof(calls) == sizeof(*cuda), "pointers alone");
	for (unsigned i = 0; i < CUDA_COUNT; i++) {
		calls[i] = dlsym(library, cuda_names[i]);
		if (calls[i] == NULL && lacks == NULL)
			lacks = cuda_names[i];
	}
	memcpy(cuda, calls, sizeof(*cuda));
	return lacks;
}

static int cuda_check_version(const struct cuda *cuda, struct error *err)
{
	int version = 0;

	if (cuda->cuDriverGetVersion(&version) == CUDA_SUCCESS && version >= CUDA_LEAST)
		return 0;
	return error_set(err, ENOSYS,
			 "device: the NVIDIA driver is for CUDA %d.%d: %d.%d is needed",
			 version / 1000, version % 1000 / 10, CUDA_LEAST / 1000,
			 CUDA_LEAST % 1000 / 10);
}

static int cuda_begin(const struct cuda *cuda, struct error *err)
{
	int result = cuda_check_version(cuda, err), count = 0;
	cuda_result code;

	if (result < 0)
		return result;
	code = cuda->cuInit(0);
	if (code == CUDA_SUCCESS)
		code = cuda->cuDeviceGetCount(&count);
	if (code == CUDA_ERROR_NO_DEVICE || (code == CUDA_SUCCESS && count == 0))
		return error_set(err, ENODEV,
				 "device: the NVIDIA driver finds no device");
	return code == CUDA_SUCCESS
		       ? 0
		       : error_within(err, cuda_fail(cuda, code, "cuInit", err),
				      "device");
}

/* The library stays: what it started in the process can't be undone. */
int cuda_open(struct cuda *cuda, struct error *err)
{
	void *library = dlopen(CUDA_DRIVER, RTLD_NOW | RTLD_LOCAL);
	const char *lacks;

	if (library == NULL)
		return error_set(err, ENODEV, "device: there is no NVIDIA driver: %s",
				 dlerror());
	lacks = cuda_find(library, cuda);
	return lacks == NULL ? cuda_begin(cuda, err)
			     : error_set(err, ENOSYS,
					 "device: " CUDA_DRIVER " has no %s: a newer "
					 "NVIDIA driver is needed",
					 lacks);
}

bool cuda_loaded(struct cuda *cuda)
{
	void *library = dlopen(CUDA_DRIVER, RTLD_NOW | RTLD_NOLOAD);

	if (library == NULL)
		return false;
	cuda_find(library, cuda);
	dlclose(library); /* the program's own reference keeps it */
#define CUDA_LACKS(name) || cuda->name == NULL
	return !(false CUDA_IDLE_CALLS(CUDA_LACKS));
#undef CUDA_LACKS
}

int cuda_fail(const struct cuda *cuda, cuda_result result, const char *call,
	      struct error *err)
{
	const char *text = NULL;

	if (cuda->cuGetErrorString(result, &text) != CUDA_SUCCESS || text == NULL)
		text = "an unknown error";
	return error_set(err, result == CUDA_ERROR_OUT_OF_MEMORY ? ENOMEM : EIO,
			 "%s: %s (%u)", call, text, result);
}
