/* fake_memory.c - memory of the fake device, and host memory that is registered. */
#include "tests/tool/cuda/fake_call.h"

#include <pthread.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

EXPORT cuda_result cuMemAlloc_v2(cuda_address *address, size_t bytes)
{
	cuda_result result = fake_ready();
	int device;
	void *start;

	if (result == CUDA_SUCCESS)
		result = fake_cautious();
	if (result != CUDA_SUCCESS)
		return result;
	device = fake_current()->device;
	pthread_mutex_lock(&fake.lock);
	start = fake.taken[device] + (double)bytes > fake.memory
			? MAP_FAILED
			: mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start != MAP_FAILED) {
		fake.taken[device] += (double)bytes;
		fake.owner[fake_range_add(fake.allocated, start, bytes) -
			   fake.allocated] = device;
	}
	pthread_mutex_unlock(&fake.lock);
	*address = (uintptr_t)start;
	return start == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

EXPORT cuda_result cuMemFree_v2(cuda_address address)
{
	cuda_result result = fake_ready();
	struct range *range;

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	range = fake_range_at(fake.allocated, (void *)(uintptr_t)address);
	if (range != NULL) {
		munmap((void *)range->start, range->bytes);
		fake.taken[fake.owner[range - fake.allocated]] -= (double)range->bytes;
		range->bytes = 0;
	}
	pthread_mutex_unlock(&fake.lock);
	return range != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuda_result cuMemHostRegister_v2(void *start, size_t bytes, unsigned flags)
{
	cuda_result result = fake_ready();
	bool read_only = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0;

	if (result == CUDA_SUCCESS)
		result = fake_cautious();
	if (result != CUDA_SUCCESS)
		return result;
	if (fake.no_register)
		return CUDA_ERROR_NOT_PERMITTED;
	if (read_only && !fake.read_only)
		return CUDA_ERROR_NOT_SUPPORTED;
	/* to pin it for writing needs pages that can be written to */
	if (!read_only && madvise(start, bytes, MADV_POPULATE_WRITE) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&fake.lock);
	fake_range_add(fake.pinned, start, bytes);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuMemHostUnregister(void *start)
{
	cuda_result result = fake_ready();
	struct range *range;

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	range = fake_range_at(fake.pinned, start);
	if (range != NULL && fake_busy(range))
		fake_broken("memory is unregistered while a copy is under way",
			    "register");
	if (range != NULL)
		range->bytes = 0;
	pthread_mutex_unlock(&fake.lock);
	return range != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuda_result cuMemHostAlloc(void **start, size_t bytes, unsigned flags)
{
	cuda_result result = fake_ready();

	(void)flags;
	if (result == CUDA_SUCCESS)
		result = fake_cautious();
	if (result != CUDA_SUCCESS)
		return result;
	*start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (*start == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&fake.lock);
	fake_range_add(fake.pinned, *start, bytes);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuMemFreeHost(void *start)
{
	struct range *range = fake_range_at(fake.pinned, start);
	size_t bytes = range != NULL ? range->bytes : 0;
	cuda_result result = cuMemHostUnregister(start);

	if (result == CUDA_SUCCESS)
		munmap(start, bytes);
	return result;
}
