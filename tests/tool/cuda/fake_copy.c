/* fake_copy.c - what the fake driver puts on a stream beside kernels: copies and calls. */
#include "tests/tool/cuda/fake_call.h"

#include <pthread.h>

EXPORT cuda_result cuMemcpyHtoDAsync_v2(cuda_address to, const void *from, size_t bytes,
					cuda_stream stream)
{
	struct op op = {
		.kind = OP_COPY_IN,
		.correlation = fake_correlate(),
		.to = (void *)(uintptr_t)to,
		.from = from,
		.bytes = bytes,
	};
	cuda_result result;

	if (fake.fail > 0 &&
	    __atomic_add_fetch(&fake.copies, 1, __ATOMIC_RELAXED) >= fake.fail)
		fake.sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
	result = fake_ready();
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	op.pinned = fake_range_of(fake.pinned, from, bytes) != NULL;
	if (fake_range_of(fake.allocated, op.to, bytes) == NULL)
		result = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&fake.lock);
	if (result != CUDA_SUCCESS)
		return result;
	op.sum = op.pinned ? fake_sum(from, bytes) : 0;
	result = fake_add(stream, &op);
	if (!op.pinned && result == CUDA_SUCCESS) /* no staging here: all of it */
		result = fake_synchronize(stream);
	return result;
}

EXPORT cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_address from, size_t bytes,
					cuda_stream stream)
{
	const struct op op = {
		.kind = OP_COPY_OUT,
		.correlation = fake_correlate(),
		.to = to,
		.from = (void *)(uintptr_t)from,
		.bytes = bytes,
	};

	return fake_add(stream, &op);
}

EXPORT cuda_result cuMemcpyDtoH_v2(void *to, cuda_address from, size_t bytes)
{
	cuda_result result = cuMemcpyDtoHAsync_v2(to, from, bytes, NULL);

	return result == CUDA_SUCCESS ? fake_synchronize(NULL) : result;
}

EXPORT cuda_result cuMemsetD8Async(cuda_address to, unsigned char value, size_t bytes,
				   cuda_stream stream)
{
	const struct op op = {
		.kind = OP_SET,
		.correlation = fake_correlate(),
		.to = (void *)(uintptr_t)to,
		.value = value,
		.bytes = bytes,
	};

	return fake_add(stream, &op);
}

EXPORT cuda_result cuLaunchHostFunc(cuda_stream stream, void (*call)(void *),
				    void *context)
{
	const struct op op = {.kind = OP_CALL, .call = call, .context = context};

	return fake_add(stream, &op);
}

EXPORT cuda_result cuMemcpyDtoDAsync_v2(cuda_address to, cuda_address from,
					size_t bytes, cuda_stream stream)
{
	const struct op op = {
		.kind = OP_COPY_WITHIN,
		.to = (void *)(uintptr_t)to,
		.from = (void *)(uintptr_t)from,
		.bytes = bytes,
	};

	return fake_add(stream, &op);
}
