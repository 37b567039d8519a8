/*
 * cupti_fuzz.c - buffers that CUPTI hands over, of any version and with anything in
 * them.
 *
 * The input is a byte, the version, then the buffer. A kernel's name is a pointer,
 * which CUPTI answers for: it is set to one of a few names, or none, before the buffer
 * is read.
 */
#include "profiler/cupti/cupti_walk.h"
#include "tests/lib/cupti_buffer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 16, NAME = 104 };

static enum cupti_version version;

static int next(uint8_t *buffer, size_t valid, uint8_t **record)
{
	return cupti_buffer_next(version, buffer, valid, record);
}

static void set_names(uint8_t *buffer, size_t size)
{
	static const char *const names[] = {NULL, "ncclKernel", CUPTI_COLLECTIVE,
					    "",   "_Z",         "_Z31"};
	enum { NAMES = sizeof(names) / sizeof(names[0]) };
	uint8_t *record = NULL;
	uint32_t kind;

	while (next(buffer, size, &record) == 0) {
		memcpy(&kind, record, sizeof(kind));
		if (kind == CUPTI_KERNEL)
			memcpy(record + NAME, &names[record[NAME] % NAMES],
			       sizeof(names[0]));
	}
}

static void check(struct trace *trace)
{
	for (uint32_t i = 0; i < trace->span_count && i < TRACE_SPANS; i++) {
		struct trace_span *span = &trace->spans[i];

		if (span->start_ns == 0 || span->end_ns < span->start_ns ||
		    span->idle_ns > span->end_ns - span->start_ns ||
		    span->device >= CUPTI_DEVICES || span->work >= TRACE_WORKS)
			abort();
		memset(span, 0, sizeof(*span));
	}
	trace->span_count = 0;
	trace->lost_records = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(8) uint8_t buffer[MOST];
	static struct trace *trace;
	struct cupti_watch watch = {.adding = PTHREAD_MUTEX_INITIALIZER};

	if (trace == NULL)
		trace = calloc(1, sizeof(*trace));
	if (trace == NULL || size < 1 || size > MOST)
		return 0;
	version = data[0] % CUPTI_VERSIONS;
	watch.spans.trace = trace;
	watch.api.cuptiActivityGetNextRecord = next;
	memcpy(buffer, data + 1, size - 1);
	set_names(buffer, size - 1);
	cupti_walk(&watch, buffer, size - 1);
	check(trace);
	return 0;
}
