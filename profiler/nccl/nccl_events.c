/* nccl_events.c - remembers collectives until their channels have ended. */
#include "profiler/nccl/nccl_events.h"

#include <string.h>

/* A name is the number of its collective, from 1, and whether it is a channel of it. */
static uint64_t nccl_name(uint64_t begun, bool channel)
{
	return begun << 1 | channel;
}

/* With the lock. NULL: it was forgotten, or never known. */
static struct nccl_going *nccl_going_of(struct nccl_events *events, uint64_t name)
{
	struct nccl_going *going = &events->going[(name >> 1) % NCCL_GOING];

	return name != 0 && going->event == name >> 1 ? going : NULL;
}

/* Every so many numbers are kept, while so many records are in use. */
static uint64_t nccl_stride(uint32_t used)
{
	uint32_t left = used < TRACE_COLLECTIVES ? TRACE_COLLECTIVES - used : 0;
	uint64_t stride = 1;

	for (uint32_t half = TRACE_COLLECTIVES / 2; left < half; half /= 2)
		stride *= 2;
	return stride;
}

struct nccl_communicator *nccl_events_join(struct nccl_events *events, uint64_t number,
					   uint32_t rank, uint32_t ranks)
{
	struct nccl_communicator *joined = NULL;

	pthread_mutex_lock(&events->lock);
	for (int i = 0; i < NCCL_COMMUNICATORS && joined == NULL; i++)
		if (events->communicators[i].ranks == 0)
			joined = &events->communicators[i];
	if (joined != NULL)
		*joined = (struct nccl_communicator){number, rank, ranks};
	pthread_mutex_unlock(&events->lock);
	return joined;
}

void nccl_events_leave(struct nccl_events *events,
		       struct nccl_communicator *communicator)
{
	pthread_mutex_lock(&events->lock);
	*communicator = (struct nccl_communicator){0};
	pthread_mutex_unlock(&events->lock);
}

uint64_t nccl_events_begin(struct nccl_events *events,
			   const struct nccl_communicator *communicator,
			   const char *function, uint64_t number)
{
	struct nccl_going *going;
	uint64_t name = 0;

	pthread_mutex_lock(&events->lock);
	if (number % nccl_stride(atomic_load(&events->trace->collective_count)) == 0) {
		uint64_t begun = ++events->begun;

		going = &events->going[begun % NCCL_GOING];
		*going = (struct nccl_going){.event = begun,
					     .communicator = *communicator,
					     .number = number,
					     .start_ns = UINT64_MAX};
		strncpy(going->function, function != NULL ? function : "",
			sizeof(going->function) - 1);
		name = nccl_name(begun, false);
	}
	pthread_mutex_unlock(&events->lock);
	return name;
}

uint64_t nccl_events_channel(struct nccl_events *events, uint64_t collective,
			     uint64_t start_ns)
{
	struct nccl_going *going;
	uint64_t name = 0;

	pthread_mutex_lock(&events->lock);
	going = nccl_going_of(events, collective);
	if (going != NULL) {
		if (start_ns < going->start_ns)
			going->start_ns = start_ns;
		name = nccl_name(going->event, true);
	}
	pthread_mutex_unlock(&events->lock);
	return name;
}

/* With the lock. NULL: the session has no room. */
static struct trace_collective *nccl_claim(const struct nccl_events *events,
					   const struct nccl_going *going)
{
	struct trace *trace = events->trace;
	uint32_t index = atomic_load(&trace->collective_count);
	struct trace_collective *record;

	if (index < TRACE_COLLECTIVES)
		index = atomic_fetch_add(&trace->collective_count, 1);
	if (index >= TRACE_COLLECTIVES)
		return NULL;
	record = &trace->collectives[index];
	record->communicator = going->communicator.number;
	record->rank = going->communicator.rank;
	record->ranks = going->communicator.ranks;
	record->number = going->number;
	record->pid = events->pid;
	record->lag_ns = INT64_MAX;
	memcpy(record->function, going->function, sizeof(record->function));
	return record;
}

/* It is whole with its end, which comes last. */
static void nccl_extend(const struct nccl_going *going, uint64_t stop_ns,
			uint64_t told_ns)
{
	struct trace_collective *record = going->record;
	int64_t lag_ns = (int64_t)(told_ns - stop_ns);

	record->start_ns = going->start_ns;
	if (lag_ns < record->lag_ns)
		record->lag_ns = lag_ns;
	if (stop_ns > record->stop_ns)
		__atomic_store_n(&record->stop_ns, stop_ns, __ATOMIC_RELEASE);
}

void nccl_events_ended(struct nccl_events *events, uint64_t channel, uint64_t stop_ns,
		       uint64_t told_ns)
{
	struct nccl_going *going;

	pthread_mutex_lock(&events->lock);
	going = (channel & 1) != 0 ? nccl_going_of(events, channel) : NULL;
	if (going != NULL && stop_ns > going->start_ns) {
		if (going->record == NULL)
			going->record = nccl_claim(events, going);
		if (going->record != NULL)
			nccl_extend(going, stop_ns, told_ns);
	}
	pthread_mutex_unlock(&events->lock);
}
