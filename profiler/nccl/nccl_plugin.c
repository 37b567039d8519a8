/* nccl_plugin.c - reads NCCL's descriptors, by the places of nccl_api.h. */
#include "profiler/nccl/nccl_plugin.h"
#include "loader/base/clock.h"
#include "profiler/nccl/nccl_events.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct nccl_events nccl_events = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t nccl_mapped = PTHREAD_ONCE_INIT;
static _Atomic bool nccl_watches; /* not in a forked child */

/* ---- beginning ---- */

static void nccl_forked(void)
{
	nccl_watches = false;
}

static void nccl_map(void)
{
	const char *path = getenv("DSA_SESSION");

	if (path != NULL)
		nccl_events.trace = trace_map(path, true, NULL);
	nccl_events.pid = (uint32_t)getpid();
	nccl_watches = nccl_events.trace != NULL;
	pthread_atfork(NULL, NULL, nccl_forked);
}

static int nccl_join(void **context, int *events, uint64_t communicator, int ranks,
		     int rank)
{
	*context = NULL;
	*events = 0;
	pthread_once(&nccl_mapped, nccl_map);
	if (nccl_watches && rank >= 0 && ranks > rank)
		*context = nccl_events_join(&nccl_events, communicator, (uint32_t)rank,
					    (uint32_t)ranks);
	if (nccl_watches) /* NCCL has these once, whatever the communicator */
		*events = NCCL_COLLECTIVE | NCCL_CHANNEL;
	return 0;
}

static int nccl_init_v4(void **context, int *events, const char *name,
			uint64_t communicator, int nodes, int ranks, int rank,
			void (*log)(void))
{
	(void)name, (void)nodes, (void)log;
	return nccl_join(context, events, communicator, ranks, rank);
}

static int nccl_init_v5(void **context, uint64_t communicator, int *events,
			const char *name, int nodes, int ranks, int rank,
			void (*log)(void))
{
	(void)name, (void)nodes, (void)log;
	return nccl_join(context, events, communicator, ranks, rank);
}

/* ---- events ---- */

static uint64_t nccl_number_at(const void *descriptor, size_t at)
{
	uint64_t number;

	memcpy(&number, (const char *)descriptor + at, sizeof(number));
	return number;
}

static const char *nccl_text_at(const void *descriptor, size_t at)
{
	const char *text;

	memcpy(&text, (const char *)descriptor + at, sizeof(text));
	return text;
}

/* Of none that nccl_events.h knows. */
static const uint64_t nccl_of_group = UINT64_MAX - 1;

static uint64_t nccl_begun(const void *context, const void *descriptor)
{
	switch (*((const uint8_t *)descriptor + NCCL_AT_TYPE)) {
	case NCCL_GROUP:
		return nccl_of_group;
	case NCCL_COLLECTIVE:
		return nccl_events_begin(&nccl_events, context,
					 nccl_text_at(descriptor, NCCL_AT_FUNCTION),
					 nccl_number_at(descriptor, NCCL_AT_NUMBER));
	case NCCL_CHANNEL:
		return nccl_events_channel(&nccl_events,
					   nccl_number_at(descriptor, NCCL_AT_PARENT),
					   nccl_number_at(descriptor, NCCL_AT_TIMER));
	default:
		return 0;
	}
}

/* Names pass as the pointers that NCCL takes them for: nobody follows these. */
static int nccl_start(void *context, void **event, const void *descriptor)
{
	uint64_t name = 0;

	if (nccl_watches && context != NULL)
		name = nccl_begun(context, descriptor);
	memcpy(event, &name, sizeof(name));
	return 0;
}

static int nccl_state(void *event, int state, const void *argument)
{
	if (nccl_watches && event != NULL && state == NCCL_CHANNEL_STOP &&
	    argument != NULL)
		nccl_events_ended(&nccl_events, (uintptr_t)event,
				  nccl_number_at(argument, 0), clock_now());
	return 0;
}

static int nccl_stop(void *event)
{
	(void)event;
	return 0;
}

static int nccl_finalize(void *context)
{
	if (nccl_watches && context != NULL)
		nccl_events_leave(&nccl_events, context);
	return 0;
}

const struct nccl_profiler_v4 ncclProfiler_v4 = {
	"dsa", nccl_init_v4, nccl_start, nccl_stop, nccl_state, nccl_finalize,
};

const struct nccl_profiler_v5 ncclProfiler_v5 = {
	"dsa", nccl_init_v5, nccl_start, nccl_stop, nccl_state, nccl_finalize,
};
