/* fake_device.c - does what is put on the fake device's streams, in time and in order. */
#include "tests/lib/fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fake_device fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.watch_lock = PTHREAD_MUTEX_INITIALIZER,
	.contexts = {{.device = 0},
		     {.device = 1},
		     {.device = 2},
		     {.device = 3},
		     {.device = 4},
		     {.device = 5},
		     {.device = 6},
		     {.device = 7}},
};

void fake_broken(const char *what, const char *of)
{
	fprintf(stderr, "fake_cuda: %s (%s)\n", what, of);
	abort();
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
		;
}

/* FNV-1a by words. */
uint64_t fake_sum(const void *data, uint64_t bytes)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325), word = 0;
	const char *at = data;

	for (; bytes >= sizeof(word); at += sizeof(word), bytes -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sum = (sum ^ word) * UINT64_C(0x100000001b3);
	}
	word = 0;
	memcpy(&word, at, bytes);
	return (sum ^ word) * UINT64_C(0x100000001b3);
}

/* ---- what FAKE_CUDA says ---- */

double fake_setting(const char *name, double otherwise)
{
	const char *at = getenv("FAKE_CUDA");
	size_t length = strlen(name);

	while (at != NULL && (strncmp(at, name, length) != 0 || at[length] != '=')) {
		at = strchr(at, ',');
		at = at != NULL ? at + 1 : NULL;
	}
	if (at == NULL)
		return otherwise;
	at += length + 1;
	return strncmp(at, "refused", 7) == 0 ? 1 : strtod(at, NULL);
}

void fake_settings(void)
{
	fake.devices = (int)fake_setting("devices", 1);
	fake.version = (int)fake_setting("version", 13000);
	fake.rate = fake_setting("rate", 10e9);
	fake.unit = fake_setting("unit", 1);
	fake.call = fake_setting("call", 0);
	fake.memory = fake_setting("memory", 1e12);
	fake.no_register = fake_setting("register", 0) > 0;
	fake.no_ptx = fake_setting("ptx", 0) > 0;
	fake.mirror_writable = fake_setting("mirror", 0) > 0;
	fake.read_only = fake_setting("readonly", 0) > 0;
	fake.fail = (long)fake_setting("fail", 0);
	fake.copies = 0;
	fake.sticky = CUDA_SUCCESS;
}

/* ---- memory ---- */

struct range *fake_range_of(struct range *ranges, const void *start, size_t bytes)
{
	uintptr_t at = (uintptr_t)start;

	for (int i = 0; i < RANGES; i++)
		if (ranges[i].bytes > 0 && at >= ranges[i].start &&
		    at + bytes <= ranges[i].start + ranges[i].bytes)
			return &ranges[i];
	return NULL;
}

struct range *fake_range_add(struct range *ranges, const void *start, size_t bytes)
{
	for (int i = 0; i < RANGES; i++)
		if (ranges[i].bytes == 0) {
			ranges[i] = (struct range){(uintptr_t)start, bytes};
			return &ranges[i];
		}
	fake_broken("no room for another range of memory", "RANGES");
	return NULL;
}

struct range *fake_range_at(struct range *ranges, const void *start)
{
	for (int i = 0; i < RANGES; i++)
		if (ranges[i].bytes > 0 && ranges[i].start == (uintptr_t)start)
			return &ranges[i];
	return NULL;
}

bool fake_busy(const struct range *range)
{
	for (const struct CUstream_st *stream = fake.all; stream != NULL;
	     stream = stream->other)
		for (const struct op *op = stream->first; op != NULL; op = op->next)
			if (op->kind == OP_COPY_IN &&
			    (uintptr_t)op->from >= range->start &&
			    (uintptr_t)op->from < range->start + range->bytes)
				return true;
	return false;
}

/* ---- work, in the thread of its stream ---- */

static uint64_t op_cost(const struct op *op)
{
	switch (op->kind) {
	case OP_KERNEL: /* of converting: as a copy within the device, ten times faster */
		return (uint64_t)(op->count > 0 ? (double)op->count * op->how.area *
							  3e8 / fake.rate
						: (double)op->work * fake.unit);
	case OP_COPY_IN:
	case OP_COPY_OUT:
		return (uint64_t)((double)op->bytes * 1e9 / fake.rate);
	case OP_COPY_WITHIN: /* ten times faster */
		return (uint64_t)((double)op->bytes * 1e8 / fake.rate);
	case OP_CALL:
		return (uint64_t)fake.call;
	case OP_SET:
	case OP_RECORD:
	case OP_WAIT:
		break;
	}
	return 0;
}

static void op_act(const struct op *op)
{
	if (fake.sticky != CUDA_SUCCESS)
		return; /* nothing is done any more */
	switch (op->kind) {
	case OP_KERNEL:
		if (op->bytes > 0 && fake_sum(op->from, op->bytes) != op->sum)
			fake_broken("a batch changed while a kernel read it",
				    op->function->name);
		if (op->count > 0)
			converted(&op->how, op->from, op->to, op->count);
		break;
	case OP_COPY_IN:
		if (op->pinned && fake_sum(op->from, op->bytes) != op->sum)
			fake_broken("memory changed before it was copied",
				    "cuMemcpyHtoD");
		memcpy(op->to, op->from, op->bytes);
		break;
	case OP_COPY_OUT:
	case OP_COPY_WITHIN:
		memcpy(op->to, op->from, op->bytes);
		break;
	case OP_SET:
		memset(op->to, op->value, op->bytes);
		break;
	case OP_CALL:
		op->call(op->context);
		break;
	case OP_RECORD:
	case OP_WAIT:
		break;
	}
}

static void op_tell(const struct CUstream_st *stream, const struct op *op,
		    uint64_t start, uint64_t end)
{
	static const enum fake_cuda_kind kinds[] = {
		[OP_KERNEL] = FAKE_KERNEL,
		[OP_COPY_IN] = FAKE_COPY_IN,
		[OP_COPY_OUT] = FAKE_COPY_OUT,
		[OP_SET] = FAKE_MEMSET,
	};
	const struct fake_cuda_work work = {
		.kind = op->kind <= OP_SET ? kinds[op->kind] : FAKE_KERNEL,
		.device = stream->context->device,
		.stream = stream->number,
		.correlation = op->correlation,
		.start_ns = start,
		.end_ns = end,
		.bytes = op->bytes,
		.name = op->function != NULL ? op->function->name : NULL,
	};

	if (op->kind > OP_SET)
		return;
	pthread_mutex_lock(&fake.watch_lock);
	if (fake.watch != NULL)
		fake.watch(&work);
	pthread_mutex_unlock(&fake.watch_lock);
}

/* With the lock: when the operation begins, its stream and engine being free. */
static uint64_t op_start(const struct CUstream_st *stream, const struct op *op,
			 uint64_t cost)
{
	uint64_t start = op->asked_ns > stream->end_ns ? op->asked_ns : stream->end_ns;
	double *engine = &stream->context->engine_ns[op->kind == OP_COPY_IN    ? 1
						     : op->kind == OP_COPY_OUT ? 2
									       : 0];

	if (op->kind == OP_WAIT)
		return op->event->time_ns > start ? op->event->time_ns : start;
	if (cost == 0 || op->kind == OP_CALL)
		return start;
	if (*engine > (double)start)
		start = (uint64_t)*engine;
	*engine = (double)(start + cost);
	return start;
}

static void op_run(struct CUstream_st *stream, struct op *op)
{
	uint64_t cost = fake.sticky == CUDA_SUCCESS ? op_cost(op) : 0, start, end;

	while (op->kind == OP_WAIT && op->event->completed < op->time)
		pthread_cond_wait(&fake.changed, &fake.lock);
	start = op_start(stream, op, cost);
	end = start + cost;
	pthread_mutex_unlock(&fake.lock);
	if (op->kind == OP_KERNEL && op->bytes > 0) {
		sleep_until(start);
		op->sum = fake_sum(op->from, op->bytes);
	}
	if (cost > 0)
		sleep_until(end);
	op_act(op);
	op_tell(stream, op, start, end);
	pthread_mutex_lock(&fake.lock);
	stream->end_ns = end;
	if (op->kind == OP_RECORD) {
		op->event->completed = op->time;
		op->event->time_ns = end;
	}
}

static void *stream_main(void *context)
{
	struct CUstream_st *stream = context;

	pthread_mutex_lock(&fake.lock);
	while (!stream->closing || stream->first != NULL) {
		struct op *op = stream->first;

		if (op == NULL) {
			pthread_cond_wait(&fake.changed, &fake.lock);
			continue;
		}
		op_run(stream, op);
		stream->first = op->next;
		if (stream->first == NULL)
			stream->last = &stream->first;
		free(op);
		pthread_cond_broadcast(&fake.changed);
	}
	pthread_mutex_unlock(&fake.lock);
	return NULL;
}

struct CUstream_st *fake_stream_new(struct CUctx_st *context)
{
	struct CUstream_st *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		abort();
	stream->context = context;
	stream->number = ++fake.streams;
	stream->last = &stream->first;
	stream->other = fake.all;
	fake.all = stream;
	if (pthread_create(&stream->thread, NULL, stream_main, stream) != 0)
		abort();
	return stream;
}

void fake_stream_add(struct CUstream_st *stream, const struct op *what)
{
	struct op *op = malloc(sizeof(*op));

	if (op == NULL)
		abort();
	*op = *what;
	op->next = NULL;
	op->asked_ns = now_ns();
	*stream->last = op;
	stream->last = &op->next;
	pthread_cond_broadcast(&fake.changed);
}

void fake_stream_wait(const struct CUstream_st *stream)
{
	while (stream->first != NULL)
		pthread_cond_wait(&fake.changed, &fake.lock);
}
