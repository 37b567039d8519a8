/* fake_mirror.c - memory of the fake device that processes share: a memfd. */
#include "tests/lib/fake_device.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define PROTOTYPE(name, arguments) EXPORT cuda_result name arguments;
CUDA_SHARE_CALLS(PROTOTYPE)
CUDA_STRUCT_CALLS(PROTOTYPE)
#undef PROTOTYPE

enum { GRANULARITY = 2 << 20 };

/* The same for every process. */
EXPORT cuda_result cuDeviceGetUuid(struct cuda_uuid *uuid, cuda_device device)
{
	memcpy(uuid->bytes, "fake device ....", sizeof(uuid->bytes));
	uuid->bytes[15] = (char)('0' + device);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuMemGetAllocationGranularity(size_t *bytes,
						 const struct cuda_kind *kind,
						 unsigned option)
{
	(void)kind;
	(void)option;
	*bytes = GRANULARITY;
	return CUDA_SUCCESS;
}

/* A handle is a descriptor + 1. */
static cuda_result handle_of(int fd, cuda_memory *memory)
{
	*memory = (cuda_memory)fd + 1;
	return fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int descriptor_of(cuda_memory memory)
{
	return (int)memory - 1;
}

EXPORT cuda_result cuMemCreate(cuda_memory *memory, size_t bytes,
			       const struct cuda_kind *kind, unsigned long long flags)
{
	int fd;

	(void)flags;
	if (bytes % GRANULARITY != 0 || kind->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    kind->handles != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	if ((double)bytes > fake.memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	fd = memfd_create("fake-device", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)bytes) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return handle_of(fd, memory);
}

EXPORT cuda_result cuMemExportToShareableHandle(void *fd, cuda_memory memory,
						unsigned type, unsigned long long flags)
{
	(void)type;
	(void)flags;
	*(int *)fd = dup(descriptor_of(memory));
	return *(int *)fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuda_result cuMemImportFromShareableHandle(cuda_memory *memory, void *fd,
						  unsigned type)
{
	(void)type;
	return handle_of(dup((int)(intptr_t)fd), memory);
}

EXPORT cuda_result cuMemRelease(cuda_memory memory)
{
	return close(descriptor_of(memory)) == 0 ? CUDA_SUCCESS
						 : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuda_result cuMemAddressReserve(cuda_address *address, size_t bytes,
				       size_t align, cuda_address wanted,
				       unsigned long long flags)
{
	void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)align;
	(void)wanted;
	(void)flags;
	*address = (uintptr_t)room;
	return room != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuda_result cuMemAddressFree(cuda_address address, size_t bytes)
{
	munmap((void *)(uintptr_t)address, bytes);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuMemMap(cuda_address address, size_t bytes, size_t offset,
			    cuda_memory memory, unsigned long long flags)
{
	void *start = (void *)(uintptr_t)address;

	(void)flags;
	if (mmap(start, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, descriptor_of(memory),
		 (off_t)offset) == MAP_FAILED)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&fake.lock);
	fake_range_add(fake.allocated, start, bytes);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

/* The room stays reserved. */
EXPORT cuda_result cuMemUnmap(cuda_address address, size_t bytes)
{
	void *start = (void *)(uintptr_t)address;
	struct range *range;

	pthread_mutex_lock(&fake.lock);
	range = fake_range_at(fake.allocated, start);
	if (range != NULL)
		range->bytes = 0;
	pthread_mutex_unlock(&fake.lock);
	return mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0) != MAP_FAILED
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuda_result cuMemSetAccess(cuda_address address, size_t bytes,
				  const struct cuda_access *access, size_t count)
{
	bool reads = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ;

	if (count != 1 || (reads && fake.mirror_writable))
		return CUDA_ERROR_NOT_SUPPORTED;
	return mprotect((void *)(uintptr_t)address, bytes,
			reads ? PROT_READ : PROT_READ | PROT_WRITE) == 0
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}
