/* injection.c - subscribes to CUPTI, flushes it every second and as the program
 * ends. */
#include "profiler/cupti/injection.h"
#include "loader/base/clock.h"
#include "profiler/cupti/cupti_buffers.h"
#include "profiler/cupti/cupti_walk.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_MS = 1000, PATIENCE_S = 2, ABOUT_SAID = 1, ABOUT_TAKEN = 2 };

static struct cupti_watch injection_watch = {.adding = PTHREAD_MUTEX_INITIALIZER};
static sem_t injection_ends, injection_flushed;
static _Atomic pid_t injection_owner; /* 0: nobody, or a forked child */

/* One process is enough; one that is watched speaks for those that are not. */
static void injection_say(const char *text, bool watched)
{
	struct trace *trace = injection_watch.spans.trace;
	bool first = watched && atomic_fetch_add(&trace->cupti, 1) == 0;
	uint32_t none = 0, said = ABOUT_SAID;

	if (!atomic_compare_exchange_strong(&trace->cupti_said, &none, ABOUT_TAKEN) &&
	    (!first ||
	     !atomic_compare_exchange_strong(&trace->cupti_said, &said, ABOUT_TAKEN)))
		return;
	snprintf(trace->cupti_about, sizeof(trace->cupti_about), "%s", text);
	atomic_store(&trace->cupti_said, ABOUT_SAID);
}

static bool injection_refuse(const char *what, int result)
{
	const struct cupti_api *api = &injection_watch.api;
	const char *name = NULL;
	char text[TRACE_WHY];

	if (api->cuptiGetResultString == NULL ||
	    api->cuptiGetResultString(result, &name) != 0)
		name = NULL;
	snprintf(text, sizeof(text), "%s: CUPTI answers %d%s%s", what, result,
		 name != NULL ? ", " : "", name != NULL ? name : "");
	injection_say(text, false);
	return false;
}

/* ---- what CUPTI calls ---- */

static void injection_event(void *data, int domain, uint32_t id, const void *about)
{
	(void)data, (void)domain, (void)id, (void)about; /* no event is asked for */
}

static void injection_request(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = cupti_buffers_take();
	*size = *buffer != NULL ? CUPTI_BUFFER : 0;
	*records = 0; /* as many as there is room for */
}

static void injection_complete(void *context, uint32_t stream, uint8_t *buffer,
			       size_t size, size_t valid)
{
	size_t dropped = 0;

	if (buffer == NULL || injection_owner != getpid())
		return;
	if (valid > 0)
		cupti_walk(&injection_watch, buffer, valid);
	cupti_buffers_give(buffer, size);
	if (injection_watch.api.cuptiActivityGetNumDroppedRecords(context, stream,
								  &dropped) == 0)
		atomic_fetch_add(&injection_watch.spans.trace->lost_records, dropped);
}

/* ---- begin ---- */

static int injection_subscribe(const struct cupti_api *api, void **subscriber)
{
	char holder[CUPTI_NAME] = "", text[TRACE_WHY];
	struct cupti_subscriber about = {sizeof(about), "dsa", holder, sizeof(holder)};
	int result;

	if (api->cuptiSubscribe_v2 != NULL)
		result = api->cuptiSubscribe_v2(subscriber, injection_event, NULL,
						&about);
	else
		result = api->cuptiSubscribe(subscriber, injection_event, NULL);
	if (result != 0 && result != CUPTI_HELD)
		injection_refuse("cannot subscribe", result);
	if (result != CUPTI_HELD)
		return result;
	holder[sizeof(holder) - 1] = '\0';
	snprintf(text, sizeof(text), "CUPTI is held by %s: one tool at a time",
		 holder[0] != '\0' ? holder : "another tool");
	injection_say(text, false);
	return result;
}

/* Kernels and copies tell when a device worked; what else is missing is old. */
static bool injection_enable(const struct cupti_api *api)
{
	static const int needed[] = {CUPTI_KERNEL, CUPTI_MEMCPY};
	static const int wanted[] = {CUPTI_MEMCPY2, CUPTI_MEMSET, CUPTI_GRAPH};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		int result = api->cuptiActivityEnable(needed[i]);

		if (result != 0)
			return injection_refuse("cannot record kernels and copies",
						result);
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		(void)api->cuptiActivityEnable(wanted[i]);
	return true;
}

static bool injection_begin(const struct cupti_api *api)
{
	uint8_t yes = 1;
	size_t size = sizeof(yes);
	int result;

	if (api->cuptiActivitySetAttribute != NULL)
		(void)api->cuptiActivitySetAttribute(CUPTI_ZEROED, &size, &yes);
	result = api->cuptiActivityRegisterTimestampCallback(clock_now);
	if (result != 0)
		return injection_refuse("cannot set its clock", result);
	result = api->cuptiActivityRegisterCallbacks(injection_request,
						     injection_complete);
	if (result != 0)
		return injection_refuse("cannot take its records", result);
	return injection_enable(api);
}

/* The first library that works here: one may be too new for the driver. Where another
 * tool holds it, none is tried any more. */
static bool injection_start(struct cupti_api *api, char *found, size_t room)
{
	unsigned place = 0;

	while (cupti_api_open(api, &place, found, room)) {
		void *subscriber = NULL;
		int result = injection_subscribe(api, &subscriber);

		if (result == CUPTI_HELD)
			return false;
		if (result == 0 && injection_begin(api))
			return true;
		if (result == 0 && api->cuptiUnsubscribe != NULL)
			(void)api->cuptiUnsubscribe(subscriber);
	}
	injection_say(found, false); /* unless it was said what one of them answers */
	return false;
}

/* ---- flush ---- */

/* False: not within so many seconds. */
static bool injection_await(sem_t *event, time_t seconds)
{
	struct timespec until;
	int result;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	while ((result = sem_timedwait(event, &until)) < 0 && errno == EINTR)
		;
	return result == 0;
}

static void *injection_flush(void *nothing)
{
	while (!injection_await(&injection_ends, FLUSH_MS / 1000))
		(void)injection_watch.api.cuptiActivityFlushAll(0);
	injection_watch.ending = true;
	(void)injection_watch.api.cuptiActivityFlushAll(CUPTI_FORCED);
	sem_post(&injection_flushed);
	return nothing;
}

/* As the program ends. A flush that hangs does not keep it. */
static void injection_end(void)
{
	if (injection_owner != getpid())
		return;
	sem_post(&injection_ends);
	(void)injection_await(&injection_flushed, PATIENCE_S);
}

static void injection_forked(void)
{
	injection_owner = 0;
}

/* It takes no signal that the program waits for. */
static void injection_keep_flushing(const struct cupti_api *api)
{
	sigset_t all, old;
	pthread_t thread;

	sem_init(&injection_ends, 0, 0);
	sem_init(&injection_flushed, 0, 0);
	if (api->cuptiActivityFlushPeriod != NULL)
		(void)api->cuptiActivityFlushPeriod(FLUSH_MS);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, injection_flush, NULL) == 0) {
		pthread_detach(thread);
		atexit(injection_end);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static bool injection_map(void)
{
	const char *path = getenv("DSA_SESSION");

	if (path == NULL)
		return false;
	injection_watch.spans.trace = trace_map(path, true, NULL);
	injection_watch.spans.pid = (uint32_t)getpid();
	return injection_watch.spans.trace != NULL;
}

/* Its version, and where it was found. */
static void injection_say_watched(const struct cupti_api *api, const char *found)
{
	char text[TRACE_WHY];
	uint32_t version = 0;

	(void)api->cuptiGetVersion(&version);
	snprintf(text, sizeof(text), "CUPTI %u, %.130s", version, found);
	injection_say(text, true);
}

int InitializeInjection(void)
{
	static _Atomic bool begun;
	struct cupti_api *api = &injection_watch.api;
	char found[TRACE_WHY];

	if (atomic_exchange(&begun, true) || !injection_map())
		return 1;
	injection_owner = getpid();
	pthread_atfork(NULL, NULL, injection_forked);
	if (!injection_start(api, found, sizeof(found)))
		return 1;
	injection_say_watched(api, found);
	injection_keep_flushing(api);
	return 1;
}
