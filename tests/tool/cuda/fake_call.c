/* fake_call.c - whether a call may be made now, and on which stream. */
#include "tests/tool/cuda/fake_call.h"

#include <pthread.h>
#include <unistd.h>

_Thread_local struct fake_thread fake_thread;

struct CUctx_st *fake_current(void)
{
	return fake_thread.depth > 0 ? fake_thread.stack[fake_thread.depth - 1] : NULL;
}

cuda_result fake_present(void)
{
	if (fake.pid == 0 || fake.pid != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	return fake_current() != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

cuda_result fake_ready(void)
{
	cuda_result result = fake_present();

	return result == CUDA_SUCCESS ? fake.sticky : result;
}

cuda_result fake_usable(const struct CUstream_st *stream)
{
	return (uintptr_t)stream > 2 && stream->closing ? CUDA_ERROR_INVALID_HANDLE
							: fake_ready();
}

cuda_result fake_conflict(cuda_result result)
{
	__atomic_add_fetch(&fake.invalidated, 1, __ATOMIC_RELAXED);
	return result;
}

bool fake_is_captured(void)
{
	return fake_setting("capture", 0) > 0;
}

bool fake_default_is_captured(const struct CUstream_st *stream)
{
	return (uintptr_t)stream <= 2 && fake_setting("capture", 0) > 1;
}

cuda_result fake_cautious(void)
{
	return fake_is_captured() && fake_thread.capture_mode !=
					     CU_STREAM_CAPTURE_MODE_RELAXED
		       ? fake_conflict(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
		       : CUDA_SUCCESS;
}

struct CUstream_st *fake_stream_of(struct CUstream_st *stream)
{
	struct CUstream_st **plain = &fake.plain[fake_current()->device];

	if ((uintptr_t)stream > 2)
		return stream;
	if (*plain == NULL)
		*plain = fake_stream_new(fake_current());
	return *plain;
}

cuda_result fake_add(struct CUstream_st *stream, const struct op *op)
{
	cuda_result result = fake_usable(stream);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	fake_stream_add(fake_stream_of(stream), op);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

uint32_t fake_correlate(void)
{
	return __atomic_add_fetch(&fake.correlation, 1, __ATOMIC_RELAXED);
}

cuda_result fake_synchronize(cuda_stream stream)
{
	cuda_result result = fake_present();

	if (result == CUDA_SUCCESS && fake_usable(stream) == CUDA_ERROR_INVALID_HANDLE)
		result = CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS)
		result = fake_cautious();
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	fake_stream_wait(fake_stream_of(stream));
	pthread_mutex_unlock(&fake.lock);
	return fake.sticky;
}
