/* fake_cupti.c - CUPTI without a device: records as tests give them (fake_cupti.h).
 * With FAKE_CUPTI_OLD there is no cuptiSubscribe_v2, with FAKE_CUPTI_LACKS something
 * is missing that is needed. */
#include "tests/tool/fake_cupti.h"
#include "profiler/cupti/cupti_api.h"
#include "tests/lib/cupti_buffer.h"
#include "tests/tool/cuda/fake_cuda.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FAKE_CUPTI_VERSION
#define FAKE_CUPTI_VERSION CUPTI_13_0
#endif

#define EXPORT __attribute__((visibility("default")))

#define DECLARE(name, arguments) EXPORT int name arguments;
CUPTI_NEEDED(DECLARE)
CUPTI_WANTED(DECLARE)
#undef DECLARE

enum {
	OFF = 15,
	BAD_ARGUMENT = 1,
	STRANGE = 777,
	EACH = 10,
	DROPS = 3,
	NEWEST_FIT = 22
};

static struct {
	pthread_mutex_t lock; /* of all below */
	pid_t owner;
	bool held, off, drops, unknown, incomplete, hangs;
	bool enabled[64];
	cupti_request *request;
	cupti_complete *complete;
	uint8_t *buffer;
	size_t size, used, records;
	unsigned added;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread bool inside; /* a callback */

/* ---- rules ---- */

static void complain(const char *what, const char *call)
{
	const char *path = getenv("FAKE_CUPTI_LOG");
	int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s %s\n", call, what);
	close(fd);
}

static void check_call(const char *call)
{
	if (fake.owner != 0 && fake.owner != getpid())
		complain("in another process", call);
	if (inside)
		complain("from the callback", call);
}

static bool told(const char *word)
{
	const char *words = getenv("FAKE_CUPTI");

	return words != NULL && strstr(words, word) != NULL;
}

/* ---- calls ---- */

EXPORT int cuptiGetVersion(uint32_t *version)
{
	static const uint32_t versions[] = {18, 22, 130001};

	*version = versions[FAKE_CUPTI_VERSION];
	return 0;
}

EXPORT int cuptiGetResultString(int result, const char **text)
{
	*text = result == OFF ? "CUPTI_ERROR_NOT_INITIALIZED" : "CUPTI_ERROR";
	return 0;
}

/* What the fake driver's devices did. */
static void record_work(const struct fake_cuda_work *work)
{
	static const uint32_t kinds[] = {[FAKE_KERNEL] = CUPTI_KERNEL,
					 [FAKE_COPY_IN] = CUPTI_MEMCPY,
					 [FAKE_COPY_OUT] = CUPTI_MEMCPY,
					 [FAKE_MEMSET] = CUPTI_MEMSET};
	const struct fake_cupti_record record = {
		.kind = kinds[work->kind],
		.device = (uint32_t)work->device,
		.copy_kind = work->kind == FAKE_COPY_OUT ? 2 : 1,
		.start_ns = work->start_ns,
		.end_ns = work->end_ns,
	};

	fake_cupti_record(&record);
}

static void watch_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *found = driver != NULL ? dlsym(driver, "fake_cuda_watch") : NULL;
	void (*watch)(fake_cuda_done * done);

	memcpy(&watch, &found, sizeof(watch));
	if (watch != NULL)
		watch(record_work);
}

static int subscribe(void **subscriber)
{
	uint32_t version;

	cuptiGetVersion(&version);
	check_call("cuptiSubscribe");
	fake.owner = getpid();
	fake.off = told("off") || (told("unfit") && version > NEWEST_FIT);
	fake.drops = told("drops");
	fake.unknown = told("unknown");
	fake.incomplete = told("incomplete");
	fake.hangs = told("hangs");
	*subscriber = &fake;
	if (told("held"))
		return CUPTI_HELD;
	watch_driver();
	return 0;
}

EXPORT int cuptiSubscribe(void **subscriber, cupti_event *event, void *data)
{
	(void)data;
	return event != NULL ? subscribe(subscriber) : BAD_ARGUMENT;
}

#ifndef FAKE_CUPTI_OLD
EXPORT int cuptiSubscribe_v2(void **subscriber, cupti_event *event, void *data,
			     struct cupti_subscriber *about)
{
	int result;

	(void)data;
	if (event == NULL || about->size != sizeof(*about))
		return BAD_ARGUMENT;
	result = subscribe(subscriber);
	if (result == CUPTI_HELD)
		snprintf(about->holder, about->room, "Fake Nsight");
	return result;
}
#endif

EXPORT int cuptiUnsubscribe(void *subscriber)
{
	check_call("cuptiUnsubscribe");
	return subscriber == &fake ? 0 : BAD_ARGUMENT;
}

EXPORT int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
	check_call("cuptiActivitySetAttribute");
	(void)value;
	return attribute == CUPTI_ZEROED && *size == 1 ? 0 : BAD_ARGUMENT;
}

EXPORT int cuptiActivityRegisterTimestampCallback(cupti_clock *clock)
{
	check_call("cuptiActivityRegisterTimestampCallback");
	return clock != NULL && clock() > 0 ? 0 : BAD_ARGUMENT;
}

EXPORT int cuptiActivityRegisterCallbacks(cupti_request *request,
					  cupti_complete *complete)
{
	check_call("cuptiActivityRegisterCallbacks");
	fake.request = request;
	fake.complete = complete;
	return 0;
}

EXPORT int cuptiActivityEnable(int kind)
{
	check_call("cuptiActivityEnable");
	if (fake.off)
		return OFF;
	fake.enabled[kind] = true;
	return 0;
}

EXPORT int cuptiActivityFlushPeriod(uint32_t ms)
{
	check_call("cuptiActivityFlushPeriod");
	return ms > 0 ? 0 : BAD_ARGUMENT;
}

/* ---- records ---- */

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
	return cupti_buffer_next(FAKE_CUPTI_VERSION, buffer, valid, record);
}

#ifndef FAKE_CUPTI_LACKS
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream,
					     size_t *dropped)
{
	(void)context, (void)stream;
	*dropped = fake.drops ? DROPS : 0;
	return 0;
}
#endif

/* Hands the buffer over; the lock is let go meanwhile, as the callback may take
 * long. */
static void hand_over(void)
{
	uint8_t *buffer = fake.buffer;
	size_t size = fake.size, used = fake.used;

	fake.buffer = NULL;
	if (buffer == NULL)
		return;
	pthread_mutex_unlock(&fake.lock);
	inside = true;
	fake.complete(NULL, 0, buffer, size, used);
	inside = false;
	pthread_mutex_lock(&fake.lock);
}

EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
	check_call("cuptiActivityFlushAll");
	while (fake.hangs && flags == CUPTI_FORCED)
		pause();
	pthread_mutex_lock(&fake.lock);
	hand_over();
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static size_t write_record(uint8_t *at, const struct fake_cupti_record *record)
{
	struct fake_cupti_record written = *record;

	if (fake.incomplete && ++fake.added % EACH == 0)
		written.start_ns = written.end_ns = 0;
	return cupti_buffer_write(FAKE_CUPTI_VERSION, at, &written);
}

static bool begin_buffer(size_t bytes)
{
	size_t most = 0;

	if (fake.buffer != NULL && fake.used + bytes > fake.size)
		hand_over();
	if (fake.buffer != NULL)
		return true;
	fake.used = fake.records = 0;
	fake.request(&fake.buffer, &fake.size, &most);
	for (size_t i = 0; fake.buffer != NULL && i < fake.size; i++)
		if (fake.buffer[i] != 0) {
			complain("not zeroed", "request");
			break;
		}
	return fake.buffer != NULL;
}

EXPORT void fake_cupti_record(const struct fake_cupti_record *record)
{
	const uint32_t strange = STRANGE;

	if (fake.owner != getpid() || !fake.enabled[record->kind])
		return;
	pthread_mutex_lock(&fake.lock);
	if (begin_buffer(cupti_buffer_length(FAKE_CUPTI_VERSION, record->kind))) {
		uint8_t *at = fake.buffer + fake.used;

		fake.used += write_record(at, record);
		if (fake.unknown && ++fake.records == EACH)
			memcpy(at, &strange, sizeof(strange));
	}
	pthread_mutex_unlock(&fake.lock);
}
