/* fake_stream.c - streams and events of the fake driver. */
#include "tests/tool/cuda/fake_call.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the graph's stream nobody here has the handle. */
EXPORT cuda_result cuStreamIsCapturing(cuda_stream stream, unsigned *status)
{
	cuda_result result = fake_usable(stream);

	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	if (result == CUDA_SUCCESS && fake_default_is_captured(stream))
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	return result;
}

static cuda_result create_stream(cuda_stream *stream)
{
	cuda_result result = fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	*stream = fake_stream_new(fake_current());
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuStreamCreateWithPriority(cuda_stream *stream, unsigned flags,
					      int priority)
{
	(void)flags, (void)priority;
	return create_stream(stream);
}

EXPORT cuda_result cuStreamCreate(cuda_stream *stream, unsigned flags)
{
	(void)flags;
	return create_stream(stream);
}

/* What was put on it is still done. */
EXPORT cuda_result cuStreamDestroy_v2(cuda_stream stream)
{
	if (fake.pid != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (stream->closing)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&fake.lock);
	stream->closing = true;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
	pthread_detach(stream->thread);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuStreamSynchronize(cuda_stream stream)
{
	return fake_synchronize(stream);
}

EXPORT cuda_result cuEventCreate(cuda_event *event, unsigned flags)
{
	cuda_result result = fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	*event = calloc(1, sizeof(**event));
	if (*event == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*event)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
	pthread_mutex_lock(&fake.lock);
	(*event)->other = fake.events;
	fake.events = *event;
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

/* One that is waited for, or was recorded and has not come, lives on. */
EXPORT cuda_result cuEventDestroy_v2(cuda_event event)
{
	pthread_mutex_lock(&fake.lock);
	if (event->recorded == event->completed)
		event->recorded = event->completed = UINT64_MAX;
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuEventRecord(cuda_event event, cuda_stream stream)
{
	cuda_result result = fake_usable(stream);
	struct op op = {.kind = OP_RECORD, .event = event};

	if (result != CUDA_SUCCESS)
		return result;
	if (fake_default_is_captured(stream))
		return fake_conflict(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	pthread_mutex_lock(&fake.lock);
	op.time = ++event->recorded;
	fake_stream_add(fake_stream_of(stream), &op);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuStreamWaitEvent(cuda_stream stream, cuda_event event,
				     unsigned flags)
{
	cuda_result result = fake_usable(stream);
	struct op op = {.kind = OP_WAIT, .event = event};

	(void)flags;
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	op.time = event->recorded;
	fake_stream_add(fake_stream_of(stream), &op);
	pthread_mutex_unlock(&fake.lock);
	return CUDA_SUCCESS;
}

EXPORT cuda_result cuEventSynchronize(cuda_event event)
{
	cuda_result result = fake_present();
	uint64_t time;

	if (result == CUDA_SUCCESS)
		result = fake_cautious();
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	time = event->recorded;
	while (event->completed < time)
		pthread_cond_wait(&fake.changed, &fake.lock);
	pthread_mutex_unlock(&fake.lock);
	return fake.sticky;
}

EXPORT cuda_result cuEventQuery(cuda_event event)
{
	cuda_result result = fake_ready();

	if (result == CUDA_SUCCESS)
		result = fake_cautious();
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	result = event->completed < event->recorded ? CUDA_ERROR_NOT_READY
						    : CUDA_SUCCESS;
	pthread_mutex_unlock(&fake.lock);
	return result;
}

EXPORT cuda_result cuEventElapsedTime(float *ms, cuda_event start, cuda_event end)
{
	cuda_result result = fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!start->timed || !end->timed || start->recorded == 0 || end->recorded == 0)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&fake.lock);
	if (start->completed < start->recorded || end->completed < end->recorded)
		result = CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(end->time_ns - start->time_ns) / 1e6);
	pthread_mutex_unlock(&fake.lock);
	return result;
}

EXPORT cuda_result cuCtxSynchronize(void)
{
	cuda_result result = fake_present();

	if (result != CUDA_SUCCESS)
		return result;
	if (fake_is_captured())
		return fake_conflict(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (fake_setting("synchronize", 1) == 0)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&fake.lock);
	for (const struct CUstream_st *stream = fake.all; stream != NULL;
	     stream = stream->other)
		fake_stream_wait(stream);
	pthread_mutex_unlock(&fake.lock);
	return fake.sticky;
}

EXPORT cuda_result cuStreamQuery(cuda_stream stream)
{
	cuda_result result = fake_ready();

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&fake.lock);
	result = fake_stream_of(stream)->first != NULL ? CUDA_ERROR_NOT_READY
						       : CUDA_SUCCESS;
	pthread_mutex_unlock(&fake.lock);
	return result;
}
