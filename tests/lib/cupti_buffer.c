/* cupti_buffer.c - lengths and places by a table. */
#include "tests/lib/cupti_buffer.h"
#include "profiler/cupti/cupti_api.h"

#include <string.h>

enum { UNKNOWN_ERROR = 999 /* what 11.8 says of an unknown kind */ };

static const struct shape {
	uint32_t kind;
	uint16_t length[CUPTI_VERSIONS];
	uint16_t start, device;
} shapes[] = {
	{CUPTI_KERNEL, {200, 208, 216}, 16, 40}, {CUPTI_MEMCPY, {88, 88, 96}, 16, 32},
	{CUPTI_MEMSET, {88, 88, 88}, 16, 32},    {CUPTI_MEMCPY2, {96, 96, 96}, 16, 32},
	{CUPTI_GRAPH, {48, 56, 56}, 8, 24},
};

static const struct shape *shape_of(uint32_t kind)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (shapes[i].kind == kind)
			return &shapes[i];
	return NULL;
}

size_t cupti_buffer_length(enum cupti_version version, uint32_t kind)
{
	const struct shape *shape = shape_of(kind);

	return shape != NULL ? shape->length[version] : 0;
}

size_t cupti_buffer_write(enum cupti_version version, uint8_t *at,
			  const struct fake_cupti_record *record)
{
	const struct shape *shape = shape_of(record->kind);

	if (shape == NULL)
		return 0;
	memcpy(at, &record->kind, sizeof(record->kind));
	if (record->kind == CUPTI_MEMCPY)
		at[4] = record->copy_kind;
	memcpy(at + shape->start, &record->start_ns, sizeof(record->start_ns));
	memcpy(at + shape->start + 8, &record->end_ns, sizeof(record->end_ns));
	memcpy(at + shape->device, &record->device, sizeof(record->device));
	if (record->kind == CUPTI_KERNEL)
		memcpy(at + 104, &record->name, sizeof(record->name));
	return shape->length[version];
}

static size_t length_at(enum cupti_version version, const uint8_t *record)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	return cupti_buffer_length(version, kind);
}

int cupti_buffer_next(enum cupti_version version, uint8_t *buffer, size_t valid,
		      uint8_t **record)
{
	uint8_t *next =
		*record == NULL ? buffer : *record + length_at(version, *record);
	size_t left = (size_t)(buffer + valid - next);

	if (left < sizeof(uint32_t))
		return CUPTI_END;
	if (length_at(version, next) == 0)
		return version == CUPTI_11_8 ? UNKNOWN_ERROR : CUPTI_NO_KIND;
	if (left < length_at(version, next))
		return CUPTI_END;
	*record = next;
	return 0;
}
