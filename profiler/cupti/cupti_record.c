/* cupti_record.c - reads what all versions have at the same place. */
#include "profiler/cupti/cupti_record.h"
#include "loader/base/trace.h"

#include <string.h>

/* Longer ones are an overflow: a week. */
#define LONGEST_NS (UINT64_C(7) * 86400 * 1000000000)

enum { COPY_KIND = 4, KERNEL_NAME = 104, COPIES = 11 };

static const struct cupti_layout {
	uint32_t kind;
	uint16_t start, end, device; /* offsets; of times 8 bytes, of the device 4 */
	uint16_t work;
} cupti_layouts[] = {
	{CUPTI_KERNEL, 16, 24, 40, TRACE_KERNEL},
	{CUPTI_MEMCPY, 16, 24, 32, TRACE_COPY_IN},
	{CUPTI_MEMCPY2, 16, 24, 32, TRACE_COPY_PEER},
	{CUPTI_MEMSET, 16, 24, 32, TRACE_MEMSET},
	{CUPTI_GRAPH, 8, 16, 24, TRACE_KERNEL},
};

/* By what is copied: host, array or device memory, in turn, to which. Host to host:
 * none. */
static const uint16_t cupti_copies[COPIES] = {
	TRACE_COPY_PEER, TRACE_COPY_IN,   TRACE_COPY_OUT,  TRACE_COPY_IN,
	TRACE_COPY_OUT,  TRACE_COPY_PEER, TRACE_COPY_PEER, TRACE_COPY_PEER,
	TRACE_COPY_PEER, TRACE_WORKS,     TRACE_COPY_PEER,
};

static const struct cupti_layout *cupti_layout_of(const uint8_t *record)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	for (size_t i = 0; i < sizeof(cupti_layouts) / sizeof(cupti_layouts[0]); i++)
		if (cupti_layouts[i].kind == kind)
			return &cupti_layouts[i];
	return NULL;
}

/* Its name comes as the linker knows it: of a function in C++ behind _Z and a length. */
static bool cupti_is_collective(const uint8_t *record)
{
	const char *name;

	memcpy(&name, record + KERNEL_NAME, sizeof(name));
	if (name == NULL)
		return false;
	if (strncmp(name, "_Z", 2) == 0)
		name += 2 + strspn(name + 2, "0123456789");
	return strncmp(name, "nccl", 4) == 0;
}

static uint16_t cupti_work_of(const struct cupti_layout *layout, const uint8_t *record)
{
	if (layout->kind == CUPTI_MEMCPY)
		return record[COPY_KIND] < COPIES ? cupti_copies[record[COPY_KIND]]
						  : TRACE_COPY_PEER;
	if (layout->kind == CUPTI_KERNEL && cupti_is_collective(record))
		return TRACE_COLLECTIVE;
	return layout->work;
}

enum cupti_reading cupti_record_read(const uint8_t *record, struct cupti_work *work)
{
	const struct cupti_layout *layout = cupti_layout_of(record);
	uint32_t device;

	if (layout == NULL)
		return CUPTI_OTHER;
	memcpy(&work->start_ns, record + layout->start, sizeof(work->start_ns));
	memcpy(&work->end_ns, record + layout->end, sizeof(work->end_ns));
	memcpy(&device, record + layout->device, sizeof(device));
	if (work->start_ns == 0 || work->end_ns < work->start_ns ||
	    work->end_ns - work->start_ns > LONGEST_NS || device >= CUPTI_DEVICES)
		return CUPTI_SPOILT;
	work->device = (uint16_t)device;
	work->work = cupti_work_of(layout, record);
	return work->work < TRACE_WORKS ? CUPTI_READ : CUPTI_OTHER;
}
